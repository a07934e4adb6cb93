// Removes byte stuffing (T.81, B.1.1.5) from entropy-coded bytes; internal. In SIMD chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// How far removing has come: the next byte to read, and where it goes.
struct UnstuffedTo {
  const std::uint8_t* from = nullptr;
  std::uint8_t* to = nullptr;
};

/// Up to this many bytes after those that are written may be overwritten.
constexpr std::size_t k_unstuffing_padding = 64;

/// Copies bytes from `from` on, of each 0xFF 0x00 only the 0xFF. Stops before a marker, or a few bytes before `end`.
UnstuffedTo remove_stuffing(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to);

}  // namespace bale::image_detail
