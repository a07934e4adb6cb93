// LZF, the filter that h5py writes for compression="lzf": HDF5's registered filter 32000.
//
// The stream is a sequence of two kinds of items. A byte n below 32 is followed by n + 1 literal bytes. Any other byte
// begins a copy of earlier output: its upper three bits are the length minus 2 (if they are 7, the next byte is added),
// its lower five bits and the byte after that are the distance minus 1.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale::h5 {

inline constexpr int k_lzf_filter = 32000;

/// Decompresses `stored` into `plain`; false if the stream is malformed or gives more than `limit` bytes.
bool lzf_decompress(Bytes stored, std::uint64_t limit, std::vector<std::byte>& plain);

/// Registers the filter with the library, for datasets that are read through it. Needs an H5Lock.
void register_lzf();

}  // namespace bale::h5
