// The next bits of an entropy-coded segment; internal.
#pragma once

#include <cstdint>
#include <cstring>

namespace bale::image_detail {

/// Unused bits, at least `count` of them, from the top; `next` is the byte after them.
struct BitWindow {
  std::uint64_t bits = 0;
  std::uint32_t count = 0;
  const std::uint8_t* next = nullptr;

  /// At least 56 bits are there after it. Reads up to eight bytes.
  void refill() {
    std::uint64_t bytes;
    std::memcpy(&bytes, next, sizeof(bytes));
    bits |= __builtin_bswap64(bytes) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  void use(std::uint32_t num_bits) {
    bits <<= num_bits;
    count -= num_bits;
  }
  /// The top `num_bits` bits, 0 to 63 of them.
  std::uint64_t top(std::uint32_t num_bits) const { return bits >> 1 >> (63 - num_bits); }
};

}  // namespace bale::image_detail
