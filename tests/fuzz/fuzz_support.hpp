// What the targets that scan shards share.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale::test {

inline Bytes input_bytes(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

/// Makes the reads that led to `value` count.
inline void keep(std::uint64_t value) {
  static volatile std::uint64_t sink = 0;
  sink = sink + value;
}

/// Cuts an input into pieces: each has two bytes of length in front, little-endian, and ends where the input does at
/// the latest.
class Pieces {
 public:
  Pieces(const unsigned char* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  unsigned char byte() { return rest_.empty() ? 0 : static_cast<unsigned char>(take(1)[0]); }
  std::string next() {
    const std::size_t low = byte();
    return std::string(take(low | std::size_t{byte()} << 8));
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view piece = rest_.substr(0, size);
    rest_.remove_prefix(piece.size());
    return piece;
  }

  std::string_view rest_;
};

/// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) ::ftruncate(fd_, 0);
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// Lists the samples of a file or refuses it; every field that it lists can be read or is refused.
inline void scan_and_read(const Format& format, const std::string& path) {
  try {
    const Shard shard = Shard::open(path, format, scan_shard(path, format));
    Scratch scratch;
    for (std::uint64_t i = 0; i < shard.size(); ++i) {
      try {
        shard.read(i, scratch);
        shard.locate(i);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
}

}  // namespace bale::test
