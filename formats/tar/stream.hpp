// The streams of tar archives: plain or compressed in one of several ways.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bale/formats/authoring/stream.hpp"

namespace bale::tar {

/// The compression of a file, detected by its first bytes.
enum class FileKind { plain, gzip, zstd, bzip2, xz, lzma, lzip, lz4, compress };
FileKind kind_of(Bytes head);
FileKind kind_of_file(const std::string& path);
/// "bzip2"; "no compression" for a plain file.
std::string_view name_of(FileKind kind);
/// Whether only libarchive can read this kind.
bool needs_libarchive(FileKind kind);

/// zlib's windowBits: the largest window, with gzip's wrapper only.
inline constexpr int k_gzip_only = 15 + 16;

/// Opens a plain, gzip or zstd archive. `checks` are of zstd. Throws `damaged` if its compressed data is damaged.
std::unique_ptr<Stream> open_stream(const std::string& path, FileKind kind, FrameChecks checks = FrameChecks::all);

/// Decompresses a whole gzip file (RFC 1952, any number of members).
std::unique_ptr<Stream> open_gzip_stream(const std::string& path);

}  // namespace bale::tar
