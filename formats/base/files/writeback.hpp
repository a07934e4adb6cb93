// Writeback: makes the disk start on written data while more is being gathered, so that the fsync at the end has little
// left to wait for. For one thread.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace bale {

/// A hint: asks the kernel to start writing the range to disk. Never fails.
inline void start_writeback(int fd, std::uint64_t offset, std::uint64_t length) {
  ::sync_file_range(fd, static_cast<off64_t>(offset), static_cast<off64_t>(length), SYNC_FILE_RANGE_WRITE);
}

class Writeback {
 public:
  /// For a file, or a part of one, that is written from `begin` on.
  explicit Writeback(std::uint64_t begin = 0) : started_(begin) {}

  /// To be called when everything before `end` was written.
  void advance(int fd, std::uint64_t end) {
    if (end - started_ < k_stretch_bytes) return;
    start_writeback(fd, started_, end - started_);
    started_ = end;
  }

 private:
  static constexpr std::uint64_t k_stretch_bytes = std::uint64_t{16} << 20;

  std::uint64_t started_;  // end of the range that was started
};

}  // namespace bale
