// The streams of tar archives: plain or compressed in one of several ways.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/container/streams/stream.hpp"

namespace bale::tar {

/// The compression of an archive. `head`: its first block, or all of a shorter file.
Compression compression_of_tar(Bytes head);
Compression compression_of_file(const std::string& path);

/// zlib's windowBits: the largest window, with gzip's wrapper only.
inline constexpr int k_gzip_only = 15 + 16;

/// Opens the decompressed archive. `checks` are of zstd. Throws `damaged` if its compressed data is damaged, and
/// `unsupported` if this libarchive lacks the compression.
std::unique_ptr<Stream> open_stream(const std::string& path, Compression kind, FrameChecks checks = FrameChecks::all);

/// Decompresses a whole gzip file (RFC 1952, any number of members).
std::unique_ptr<Stream> open_gzip_stream(const std::string& path);

}  // namespace bale::tar
