// FileBytes: the content of a file that is used in place: mapped, or in memory if the process has very many mappings
// already or the bytes were never a file.
//
// Use it only for files that are never truncated, such as our index: access to a mapped page after a truncated end raises
// SIGBUS. Threads: immutable; any number of threads may read it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {

class FileBytes {
 public:
  FileBytes() = default;
  explicit FileBytes(std::vector<std::byte> bytes) : owned_(std::move(bytes)), bytes_(owned_) {}
  /// Throws what FileMapping and read_file() throw.
  static FileBytes load(const std::string& path);

  /// Live as long as this object, also after it was moved.
  Bytes get() const { return bytes_; }
  /// A hint: asks the kernel to read the whole file. Never fails.
  void will_need() const { mapping_.will_need(); }

 private:
  FileMapping mapping_;
  std::vector<std::byte> owned_;
  Bytes bytes_{};
};

}  // namespace bale
