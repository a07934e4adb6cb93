// SlowCopies: which copies some CPUs do at a quarter of their speed, and memory for a way around.
//
// The kernel copies between files and memory by `rep movsb`. On AMD's Zen 3 and Zen 4 that takes four to five times as
// long if the destination lies a few bytes further on in its page than the source in its own: up to 31 bytes on Zen 3
// (measured: 110 KB in 55 us instead of 13), up to 63 with wider vectors. Source: glibc bug 30994. It happens by chance
// in one copy of 65, and always where a buffer begins 16 bytes into a page, as large ones of malloc() do, and the place
// in the file at a page's start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/base/bytes.hpp"

namespace bale {

class SlowCopies {
 public:
  static constexpr std::size_t k_page_bytes = 4096;

  /// Whether the copy of `size` bytes can be one of them. `from` and `to` are addresses, or offsets in a file.
  static bool has(std::uint64_t from, std::uint64_t to, std::size_t size) {
    const std::uint64_t ahead = (to - from) % k_page_bytes;
    return size >= k_page_bytes && ahead != 0 && ahead < k_vector_bytes;
  }
  static bool has(std::uint64_t from, const void* to, std::size_t size) {
    return has(from, reinterpret_cast<std::uintptr_t>(to), size);
  }
  /// Memory between the ends of such a copy, so small that it stays in the nearest cache.
  class Detour {
   public:
    static constexpr std::size_t k_bytes = std::size_t{16} << 10;

    /// k_bytes, not initialized, half a page away from both ends: `end` is either of them.
    MutableBytes beside(std::uint64_t end) {
      return MutableBytes(room_).subspan((end + k_page_bytes / 2) % k_page_bytes, k_bytes);
    }

   private:
    alignas(k_page_bytes) std::array<std::byte, k_bytes + k_page_bytes> room_;
  };

 private:
  static constexpr std::uint64_t k_vector_bytes = 64;
};

}  // namespace bale
