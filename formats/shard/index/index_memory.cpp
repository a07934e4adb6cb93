#include "bale/formats/shard/index/index_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "bale/formats/base/math/rounding.hpp"

namespace bale {
namespace {

/// Indexes are mapped by windows, since a process can have some ten thousand mappings. An index that is larger than a
/// window begins with one.
constexpr std::uint64_t k_window_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t k_alignment = 64;

bool write_all(int fd, std::uint64_t at, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written <= 0) return false;
    at += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

IndexMemory::~IndexMemory() {
  for (const auto& [offset, window] : windows_) ::munmap(const_cast<std::byte*>(window.data()), window.size());
  ::close(fd_);
}

void IndexMemory::set_limit(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

IndexPlace IndexMemory::add(Bytes index) {
  const std::lock_guard lock(mutex_);
  std::uint64_t begin = round_up(end_, k_alignment);
  if (begin % k_window_bytes + index.size() > k_window_bytes) begin = round_up(begin, k_window_bytes);
  if (index.size() > limit_ || begin > limit_ - index.size() || !write_all(fd_, begin, index)) return {};
  end_ = begin + index.size();
  return {.offset = begin, .bytes = index.size()};
}

Bytes IndexMemory::at(const IndexPlace& place) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin = place.offset / k_window_bytes * k_window_bytes;
  const std::uint64_t size = round_up(place.offset + place.bytes - begin, k_window_bytes);
  Bytes& window = windows_[begin];
  if (window.empty()) {
    const void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(begin));
    if (mapped == MAP_FAILED) return {};
    window = {static_cast<const std::byte*>(mapped), size};
  }
  return window.subspan(place.offset - begin, place.bytes);
}

}  // namespace bale
