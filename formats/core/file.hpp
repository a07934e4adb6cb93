// Files: one owner of a descriptor, with the retries and the errors every room needs.
//
// EINTR and short transfers are handled here; a failed fsync is never retried. Every error is a
// `bale::Error` that names the path. A File may be read by many threads at once (pread); writes are
// for one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/bytes.hpp"

namespace bale {

class File {
 public:
  File() = default;
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  /// Opens a regular file for reading. Throws `not_found`, `io`, or `unsupported` (not a regular file).
  static File open_read(const std::string& path);
  /// Opens an existing regular file for reading and writing.
  static File open_update(const std::string& path);
  /// Creates a new file (mode 0644 & ~umask) for reading and writing. What has the name is removed first, so nothing is
  /// written through a link.
  static File create(const std::string& path);
  /// Creates a file without a name in `directory`, for reading and writing: gone once closed.
  static File create_unnamed(const std::string& directory);

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  bool is_open() const { return fd_ >= 0; }

  std::uint64_t size() const;
  /// Fills `out` from `offset`; throws `damaged` where the file ends before.
  void read_exact(std::uint64_t offset, MutableBytes out) const;
  /// Reads up to `out.size()` bytes; 0 at the end of the file.
  std::size_t read_some(std::uint64_t offset, MutableBytes out) const;

  void write_at(std::uint64_t offset, Bytes bytes);
  /// Writes the parts one after another from `offset`, gathered into as few calls as the system allows.
  void write_all_at(std::uint64_t offset, std::span<const Bytes> parts);
  /// Asks the kernel to start writing the range to disk; returns at once and never fails.
  void start_writeback(std::uint64_t offset, std::uint64_t length);
  void truncate(std::uint64_t size);
  /// Makes content and size durable. Throws on failure; never call it again after that.
  void sync();
  /// Closes and reports errors that only close can tell.
  void close();

  void advise_sequential() const;
  /// Asks the kernel to start reading the range; returns at once and never fails.
  void advise_will_need(std::uint64_t offset, std::uint64_t length) const;

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
};

/// A read-only private mapping of a whole file; lives as long as the object.
/// Only for files that are never truncated once published (our index): touching a page beyond a
/// truncated end is SIGBUS.
class FileMapping {
 public:
  FileMapping() = default;
  explicit FileMapping(const std::string& path);
  ~FileMapping();
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;

  Bytes bytes() const { return bytes_; }
  /// Asks the kernel to read the file; returns at once and never fails.
  void will_need() const;

 private:
  Bytes bytes_{};
};

/// Whole content of a file of at most `limit` bytes; throws `unsupported` beyond that.
std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// Creates `path` with `bytes` as its content, which is durable when it returns; its name is not.
void write_durably(const std::string& path, Bytes bytes);

/// Writes `bytes` to `path` so that after a crash it holds the old content or the new, never a mix:
/// a random temporary name in the same directory, fsync, rename, fsync of the directory.
void publish_file(const std::string& path, Bytes bytes);

/// Renames `from` to `to` (same file system) and makes the rename durable.
void publish_rename(const std::string& from, const std::string& to);

/// Makes a directory's entries durable. Does nothing if the file system cannot sync directories; other failures throw.
void sync_directory(const std::string& path);

/// Directory part of a path ("." where it has none).
std::string parent_directory(const std::string& path);
/// Last component of a path, trailing slashes ignored.
std::string base_name(const std::string& path);
/// `a` + "/" + `b`, one slash between them.
std::string join_path(const std::string& a, std::string_view b);
/// Whether `name` is that of an entry of a directory, so that it cannot lead anywhere else.
bool is_plain_name(std::string_view name);

}  // namespace bale
