// A small file for appending, opened relative to a directory descriptor and never through a symbolic link.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/writer/destination/directory.hpp"

namespace bale {

class JournalFile {
 public:
  JournalFile() = default;  // not open
  /// Opens the file and creates it if it is missing. The result is not open if the directory was removed. Throws
  /// `exists` if the name is not that of a regular file.
  static JournalFile open(const Directory& directory, const std::string& name);

  bool is_open() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  /// Whether `path` still names this file.
  bool has_its_name(const std::string& path) const;

  std::string text() const;
  /// Writes at `offset`; durable when it returns.
  void write(std::uint64_t offset, std::string_view text);
  /// Truncates the file; durable when it returns.
  void truncate(std::uint64_t size);
  void close() { fd_ = Descriptor(); }

 private:
  JournalFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  void sync();

  Descriptor fd_;
  std::string path_;
};

}  // namespace bale
