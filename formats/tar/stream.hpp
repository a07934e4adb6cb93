// Stream: random access to the bytes of a tar archive, plain or compressed.
//
// Const methods may be called by many threads at once. A stream that decompresses the whole file keeps the result in an
// unnamed temporary file ($TMPDIR, else /tmp), not in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::tar {

class Stream {
 public:
  virtual ~Stream() = default;

  virtual std::uint64_t size() const = 0;
  /// Fills `out` with the bytes at `offset`. Throws `damaged` if the stream ends before.
  virtual void read_exact(std::uint64_t offset, MutableBytes out) const = 0;
  /// The range of the shard file that holds this part of the stream; nullopt if that is not known.
  virtual std::optional<FileRange> locate(std::uint64_t offset, std::uint64_t length) const = 0;
  virtual void will_need(const FileRange& range) const = 0;
  /// Bytes that the stream takes in the temporary directory.
  virtual std::uint64_t spilled_bytes() const { return 0; }
};

/// The directory for temporary files: $TMPDIR, else /tmp.
std::string temporary_directory();

/// The compression of a file, detected by its first bytes.
enum class FileKind { plain, gzip, zstd, bzip2, xz, lzma, lzip, lz4, compress };
FileKind kind_of(Bytes head);
FileKind kind_of_file(const std::string& path);
/// "bzip2"; "no compression" for a plain file.
std::string_view name_of(FileKind kind);
/// Whether only libarchive can read this kind.
bool needs_libarchive(FileKind kind);

/// Opens a plain, gzip or zstd archive. Throws `damaged` if its compressed data is damaged.
std::unique_ptr<Stream> open_stream(const std::string& path, FileKind kind);

/// Decompresses a whole gzip file (RFC 1952, any number of members).
std::unique_ptr<Stream> open_gzip_stream(const std::string& path);

/// Opens a zstd file by its seek table if it has a usable one (FORMAT.md, section 5), else decompresses it whole.
std::unique_ptr<Stream> open_zstd_stream(const std::string& path);

}  // namespace bale::tar
