// LZF, the filter that h5py writes for compression="lzf": HDF5's registered filter 32000.
//
// The stream is a row of two kinds of items. A byte below 32 is followed by that many plus one literal bytes. Any other
// byte opens a copy of earlier output: its upper three bits are the length minus 2 (7: the next byte is added to it),
// its lower five and the byte after it the distance minus 1.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale::h5 {

inline constexpr int k_lzf_filter = 32000;

/// Decompresses `stored` into `plain`; false if the stream is malformed or gives more than `limit` bytes.
bool lzf_decompress(Bytes stored, std::uint64_t limit, std::vector<std::byte>& plain);

/// Lets the library read the filter also, for datasets that are read through it. Needs an H5Lock.
void register_lzf();

}  // namespace bale::h5
