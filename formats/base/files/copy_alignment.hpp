// Copies that some CPUs do at a quarter of their speed, and memory for a way around them.
//
// The kernel copies from files to memory by `rep movsb`. On AMD's Zen 3 and Zen 4 that takes four to five times as long
// if the destination lies a few bytes further on in its page than the source in its own: up to 31 bytes on Zen 3
// (measured: 110 KB in 55 us instead of 13), up to 63 with wider vectors. Source: glibc bug 30994. By chance it happens
// in one copy of
// 65. It always happens if a buffer begins 16 bytes into a page, as large ones of malloc() do, and what is read begins
// a page of its file. It never happens to a read with O_DIRECT, whose ends are both multiples of 512.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/files/read_limit.hpp"

namespace bale {

/// Whether the copy of `size` bytes at `offset` of a file to `to` can be such a copy.
inline bool copies_slowly(std::uint64_t offset, const void* to, std::size_t size) {
  constexpr std::uint64_t k_vector_bytes = 64;
  const std::uint64_t ahead = (reinterpret_cast<std::uintptr_t>(to) - offset) % k_page_bytes;
  return size >= k_page_bytes && ahead != 0 && ahead < k_vector_bytes;
}

/// Memory between the ends of such a copy, so small that it stays in the nearest cache.
class Detour {
 public:
  static constexpr std::size_t k_bytes = std::size_t{16} << 10;

  /// k_bytes, not initialized, half a page away from both ends.
  MutableBytes beside(std::uint64_t offset) {
    return MutableBytes(room_).subspan((offset + k_page_bytes / 2) % k_page_bytes, k_bytes);
  }

 private:
  alignas(k_page_bytes) std::array<std::byte, k_bytes + k_page_bytes> room_;
};

}  // namespace bale
