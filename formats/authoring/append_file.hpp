// AppendFile: a new file written from front to back. For one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/writeback.hpp"

namespace bale {

class AppendFile {
 public:
  /// Creates the file, and replaces an existing one.
  explicit AppendFile(const std::string& path) : file_(File::create(path)) {}

  /// Offset of the next part.
  std::uint64_t size() const { return written_ + buffer_.size(); }

  /// Appends the parts in order, and does not keep them. Few bytes wait in memory for those that follow. Throws `io`, also
  /// for bytes that waited.
  void append(std::span<const Bytes> parts) {
    std::size_t bytes = 0;
    for (const Bytes part : parts) bytes += part.size();
    if (bytes <= k_few_bytes) {
      for (const Bytes part : parts) buffer_.insert(buffer_.end(), part.begin(), part.end());
      if (buffer_.size() >= k_buffer_bytes) write_buffer();
      return;
    }
    if (!buffer_.empty()) write_buffer();
    file_.write_all_at(written_, parts);
    advance(bytes);
  }

  void close() {
    if (!buffer_.empty()) write_buffer();
    file_.close();
  }

 private:
  // A call of the kernel costs as much as copying some thousand bytes.
  static constexpr std::size_t k_few_bytes = std::size_t{8} << 10;
  static constexpr std::size_t k_buffer_bytes = std::size_t{64} << 10;

  void write_buffer() {
    file_.write_at(written_, buffer_);
    advance(buffer_.size());
    buffer_.clear();
  }
  void advance(std::uint64_t bytes) {
    written_ += bytes;
    writeback_.advance(file_.fd(), written_);
  }

  File file_;
  std::uint64_t written_ = 0;
  std::vector<std::byte> buffer_;  // what comes next
  Writeback writeback_;
};

}  // namespace bale
