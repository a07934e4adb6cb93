// Bits that an encoder writes, without byte stuffing; internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bale::image_detail {

/// Eight bytes are written at once, so this many must be there after those that the bits fill.
constexpr std::size_t k_bit_padding = 16;

struct BitWriter {
  std::uint8_t* to = nullptr;
  // Those that fill no byte yet: the low `count` ones.
  std::uint64_t bits = 0;
  std::uint32_t count = 0;

  /// At most 56 bits.
  void put(std::uint64_t value, std::uint32_t length) {
    bits = bits << length | value;
    count += length;
    const std::uint64_t bytes = __builtin_bswap64(bits << 1 << (63 - count));
    std::memcpy(to, &bytes, sizeof(bytes));
    to += count >> 3;
    count &= 7;
  }
  /// T.81, F.1.2.3 wants ones.
  void fill_byte(bool zeros) {
    if (count == 0) return;
    const std::uint32_t free = 8 - count;
    *to++ = static_cast<std::uint8_t>(bits << free | (zeros ? 0 : (1u << free) - 1));
    count = 0;
  }
};

/// Appends `bytes` with a zero after each FF (T.81, F.1.2.3).
void append_stuffed(std::span<const std::uint8_t> bytes, std::vector<std::byte>& out);

}  // namespace bale::image_detail
