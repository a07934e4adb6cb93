// Stream: the bytes of a tar archive by position, whatever the file around it is.
//
// Const methods may be called by many threads at once. A stream that inflates keeps its result in a
// temporary file without a name ($TMPDIR, else /tmp), never in memory.
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
  /// Fills `out` from `offset`; throws `damaged` where the stream ends before.
  virtual void read_exact(std::uint64_t offset, MutableBytes out) const = 0;
  /// Bytes of the shard file that hold this part of the stream; nullopt where there is no telling.
  virtual std::optional<FileRange> locate(std::uint64_t offset, std::uint64_t length) const = 0;
  virtual void will_need(const FileRange& range) const = 0;
  /// What it takes in the temporary directory.
  virtual std::uint64_t spilled_bytes() const { return 0; }
};

/// Where temporary files lie: $TMPDIR, else /tmp.
std::string temporary_directory();

/// What a file is, judged by its first bytes.
enum class FileKind { plain, gzip, zstd, bzip2, xz, lzma, lzip, lz4, compress };
FileKind kind_of(Bytes head);
FileKind kind_of_file(const std::string& path);
/// "bzip2"; "no compression" for a plain file.
std::string_view name_of(FileKind kind);
/// Whether only libarchive reads it.
bool needs_libarchive(FileKind kind);

/// Opens a plain, gzip or zstd archive. Throws `damaged` for a compressed stream that is.
std::unique_ptr<Stream> open_stream(const std::string& path, FileKind kind);

/// A gzip file (RFC 1952, any number of members) inflated whole.
std::unique_ptr<Stream> open_gzip_stream(const std::string& path);

/// A zstd file: by its seek table where it has one (FORMAT.md, section 5), else inflated whole.
std::unique_ptr<Stream> open_zstd_stream(const std::string& path);

}  // namespace bale::tar
