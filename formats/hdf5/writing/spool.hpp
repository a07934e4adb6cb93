// Spool: collects bytes whose offset is known only at the end, in memory up to a limit, then in an unnamed file.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"

namespace bale::h5 {

class Spool {
 public:
  /// `path`: name of the file if one is needed. It is unlinked at once, so that a crash does not leave it behind.
  explicit Spool(std::string path) : path_(std::move(path)) {}

  void append(Bytes bytes);
  std::uint64_t size() const { return file_bytes_ + memory_.size(); }
  /// Fills `out` from `offset`. Precondition: there are that many bytes.
  void read(std::uint64_t offset, MutableBytes out) const;
  /// Writes all bytes to `out` at `offset`.
  void copy_to(File& out, std::uint64_t offset) const;

 private:
  void spill();
  std::string path_;
  std::vector<std::byte> memory_;
  File file_;
  std::uint64_t file_bytes_ = 0;
};

/// Copies a range from one file to another, inside the kernel if possible.
void copy_range(const File& in, std::uint64_t from, File& out, std::uint64_t to, std::uint64_t bytes);

/// Allocates the disk space of a file now, so that a full disk is reported before the work, not after it. Does nothing
/// if the file system cannot.
void reserve_space(const File& file);

}  // namespace bale::h5
