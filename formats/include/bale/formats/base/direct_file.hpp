// DirectFile: reads that bypass the page cache (O_DIRECT), for data that would be evicted before it is read again.
//
// Memory: each thread that calls read_exact() keeps an aligned buffer as large as its largest read.
// Threads: const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_range.hpp"

namespace bale {

class DirectFile {
 public:
  /// nullopt if the file system does not support O_DIRECT. Throws what File::open_read() throws.
  static std::optional<DirectFile> open(const std::string& path);

  /// Fills `out` from `offset`, which need not be aligned. Throws `damaged` if the file ends earlier, and `io`.
  void read_exact(std::uint64_t offset, MutableBytes out) const;

  /// Bytes of memory that read_into() takes for the range: the whole blocks that it touches.
  static std::uint64_t room_for(const FileRange& range);
  /// Reads the range into `room`, memory of room_for(range) bytes at a multiple of k_block_bytes, and returns where in
  /// it the range is. Throws what read_exact() throws.
  Bytes read_into(const FileRange& range, std::byte* room) const;

  /// A multiple of every device's logical block size.
  static constexpr std::uint64_t k_block_bytes = 4096;

 private:
  explicit DirectFile(File file) : file_(std::move(file)) {}
  File file_;
};

}  // namespace bale
