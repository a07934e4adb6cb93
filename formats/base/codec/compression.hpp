// The compression of a whole file, detected by its first bytes.
//
// Threads: the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale {

enum class Compression : std::uint8_t { none, gzip, zlib, zstd, bzip2, xz, lzma, lzip, lz4, compress };

/// `head`: at least the first 16 bytes, or all of a shorter file.
Compression compression_of(Bytes head);

/// Whether a file begins like a zstd frame or a skippable one.
bool begins_like_zstd(Bytes head);

/// "bzip2", as in messages.
std::string_view name_of(Compression compression);

/// Throws `unsupported` if the file is compressed as a whole. For formats that are not read so, when a file is not what
/// it should be.
void refuse_compressed(const std::string& path, Bytes head);

}  // namespace bale
