// File: the owner of a file descriptor. Also whole-file reads, durable writes, and path helpers.
//
// Functions that read also take the names of remote files, if a storage is set for them (storage.hpp).
//
// EINTR and short transfers are handled here. A failed fsync is never retried.
//
// Threads: const methods of a File may be called by many threads at once; the others by one thread at a time.
// Errors: every error is a `bale::Error` that names the path. A failed system call is `io` unless stated otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

class RemoteFile;

class File {
 public:
  File() = default;
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  /// Opens a regular file for reading. Throws `not_found`, `unsupported` (not a regular file) or `io`.
  static File open_read(const std::string& path);
  /// Opens an existing regular file for reading and writing. Throws what open_read() throws.
  static File open_update(const std::string& path);
  /// Creates a new file (mode 0666 & ~umask) for reading and writing. An existing file or link of that name is removed
  /// first, so nothing is written through a link.
  static File create(const std::string& path);
  /// Creates a file without a name in `directory` (mode 0600), for reading and writing. It is gone when it is closed.
  static File create_unnamed(const std::string& directory);

  /// The descriptor, which this object keeps; -1 if not open, and for a remote file.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  bool is_open() const { return fd_ >= 0 || remote_ != nullptr; }

  /// Current size in bytes.
  std::uint64_t size() const;
  /// Fills `out` from `offset`. Throws `damaged` if the file ends earlier.
  void read_exact(std::uint64_t offset, MutableBytes out) const;
  /// Reads up to out.size() bytes and returns how many; 0 at the end of the file.
  std::size_t read_some(std::uint64_t offset, MutableBytes out) const;

  void write_at(std::uint64_t offset, Bytes bytes);
  /// Writes the parts one after another from `offset`, in few system calls (pwritev).
  void write_all_at(std::uint64_t offset, std::span<const Bytes> parts);
  void truncate(std::uint64_t size);
  /// Gives the file at least `size` bytes that have their place on the disk: a page of a mapping that has none on a
  /// full disk would raise SIGBUS when it is written. Throws `io`.
  void reserve(std::uint64_t size);
  /// Makes content and size durable. If it throws, do not call it again: the kernel may have dropped the unwritten
  /// data.
  void sync();
  /// Closes the file and throws errors that only close() reports, which the destructor ignores.
  void close();

  /// A hint that the file will be read from start to end. Never fails.
  void advise_sequential() const;
  /// A hint: asks the kernel to start reading the range. Never fails.
  void advise_will_need(std::uint64_t offset, std::uint64_t length) const;
  /// Drops what is cached of a range of a remote file, so that the next read fetches it again. Returns false for a
  /// local file.
  bool forget(std::uint64_t offset, std::uint64_t length) const;

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
  std::shared_ptr<const RemoteFile> remote_{};
};

/// A mapping of a local file, for as long as the object lives. Only for files that no other process truncates: access
/// to a page after the end raises SIGBUS.
class FileMapping {
 public:
  FileMapping() = default;
  /// The whole file, read-only and private. Throws what File::open_read() throws, and `io`.
  explicit FileMapping(const std::string& path);
  /// The first `size` bytes of a file opened for reading and writing. What is written is seen by all processes that map
  /// it, and stays in the file. Throws `io`.
  FileMapping(const File& file, std::uint64_t size);
  ~FileMapping();
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;

  Bytes bytes() const { return {memory_, size_}; }
  /// Null if nothing is mapped. Written only if mapped for writing.
  std::byte* memory() const { return memory_; }

 private:
  void map(const File& file, int protection, int sharing);
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// Opens a file that is needed as a whole: a remote one is fetched first, if the cache has room for it. Throws what
/// File::open_read() throws.
File open_whole(const std::string& path);

/// The whole content of a file. Throws what File::open_read() throws, and `unsupported` if it has more than `limit`
/// bytes.
std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// Creates `path` with the content `bytes`, replacing what was there. When it returns, the content is durable; the
/// directory entry is not (sync_directory()).
void write_durably(const std::string& path, Bytes bytes);

/// Replaces `path` atomically and durably: after a crash it holds the old content or the new, never a mix. Writes a
/// temporary file in the same directory, then fsync, rename, and fsync of the directory.
void publish_file(const std::string& path, Bytes bytes);

/// Renames `from` to `to` (same file system), replacing it, and makes the rename durable.
void publish_rename(const std::string& from, const std::string& to);

/// Makes a directory's entries durable. Does nothing if the file system cannot sync directories. Throws `io` on other
/// failures.
void sync_directory(const std::string& path);

/// Whether the name is taken in its directory, be it by a link that leads nowhere.
bool name_is_taken(const std::string& path);
/// Whether there is something at the path. Follows links. Throws `io` if that is unknown: the directory cannot be
/// searched, or the disk or server fails.
bool path_exists(const std::string& path);
/// Size in bytes of the file at the path; nullopt if there is none. Throws as path_exists() does.
std::optional<std::uint64_t> file_size(const std::string& path);

/// Directory part of a path, "." if it has none. That of a web page's name has the same query.
std::string parent_directory(const std::string& path);
/// Last component of a path, without a query. Trailing slashes are ignored.
std::string base_name(const std::string& path);
/// `a` and `b` with one slash between them; `b` alone if `a` is empty.
std::string join_path(const std::string& a, std::string_view b);
/// Whether `name` names an entry of a directory and cannot lead out of it: not empty, ".", or "..", without '/' or NUL.
bool is_plain_name(std::string_view name);

}  // namespace bale
