// Inflates the data of one gzip file or zlib stream into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

constexpr std::uint64_t k_max_array_bytes = std::uint64_t{4} << 30;  // of a file of arrays, uncompressed

enum class DeflateHeader { gzip, zlib };

/// The uncompressed bytes of `input`, which is one complete stream. Throws `damaged` with the offset in the file, where
/// `input` starts at `offset`, and `unsupported` above k_max_array_bytes.
std::vector<std::byte> inflate_all(Bytes input, DeflateHeader header, const std::string& path,
                                   std::uint64_t offset = 0);

}  // namespace bale
