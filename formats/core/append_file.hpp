// AppendFile: a new file written from front to back. For one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bale/formats/core/bytes.hpp"
#include "bale/formats/core/file.hpp"

namespace bale {

class AppendFile {
 public:
  /// Creates the file, or empties the one that is there.
  explicit AppendFile(const std::string& path) : file_(File::create(path)) {}

  /// Where the next part will lie.
  std::uint64_t size() const { return written_; }

  /// Appends the parts one after another; they are not kept. Throws `io`.
  void append(std::span<const Bytes> parts) {
    file_.write_all_at(written_, parts);
    for (const Bytes part : parts) written_ += part.size();
    if (written_ - started_ >= k_writeback_bytes) {
      file_.start_writeback(started_, written_ - started_);
      started_ = written_;
    }
  }

  void close() { file_.close(); }

 private:
  /// The disk starts on every stretch of this size while the next is being gathered.
  static constexpr std::uint64_t k_writeback_bytes = std::uint64_t{16} << 20;

  File file_;
  std::uint64_t written_ = 0;
  std::uint64_t started_ = 0;  // writeback was asked for up to here
};

}  // namespace bale
