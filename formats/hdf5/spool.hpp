// Spool: bytes whose place is known only at the end; in memory up to a bound, then in an unnamed file.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"

namespace bale::h5 {

class Spool {
 public:
  /// `path`: where the file goes if one is needed; it is unlinked at once, so no crash leaves it behind.
  explicit Spool(std::string path) : path_(std::move(path)) {}

  void append(Bytes bytes);
  std::uint64_t size() const { return file_bytes_ + memory_.size(); }
  /// Writes everything at `offset` of `out`.
  void copy_to(File& out, std::uint64_t offset) const;

 private:
  void spill();
  std::string path_;
  std::vector<std::byte> memory_;
  File file_;
  std::uint64_t file_bytes_ = 0;
};

/// Copies a range from one file to another, inside the kernel where it can.
void copy_range(const File& in, std::uint64_t from, File& out, std::uint64_t to, std::uint64_t bytes);

}  // namespace bale::h5
