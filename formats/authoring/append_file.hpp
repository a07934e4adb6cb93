// AppendFile: a new file written from front to back. For one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/writeback.hpp"

namespace bale {

class AppendFile {
 public:
  /// Creates the file, and replaces an existing one.
  explicit AppendFile(const std::string& path) : file_(File::create(path)) {}

  /// Offset of the next part.
  std::uint64_t size() const { return written_; }

  /// Appends the parts in order, and does not keep them. Throws `io`.
  void append(std::span<const Bytes> parts) {
    file_.write_all_at(written_, parts);
    for (const Bytes part : parts) written_ += part.size();
    writeback_.advance(file_.fd(), written_);
  }

  void close() { file_.close(); }

 private:
  File file_;
  std::uint64_t written_ = 0;
  Writeback writeback_;
};

}  // namespace bale
