// Conversion of float to the two 16-bit floats, to nearest, ties to even, as in NumPy and PyTorch. The device runs the
// same functions (loader/cuda).
#pragma once

#include <bit>
#include <cstdint>

namespace bale {

/// IEEE binary16. Every NaN becomes a quiet NaN.
constexpr std::uint16_t to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000) {
    half = 0x7E00;
  } else if (magnitude >= 0x47800000) {  // 65536 and more
    half = 0x7C00;
  } else if (magnitude >= 0x38800000) {  // 2^-14, the smallest normal; from 65520 on the carry gives infinity
    const std::uint32_t rebiased = magnitude - ((127U - 15U) << 23);
    half = (rebiased + 0xFFF + (rebiased >> 13 & 1)) >> 13;
  } else {
    // Subnormal: the last bit of a float in [0.5, 1) is 2^-24, the unit of float16 subnormals, so the addition rounds.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  }
  return static_cast<std::uint16_t>(half | sign);
}

/// The upper half of a float. Every NaN becomes a quiet NaN.
constexpr std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | 0x7FC0);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// The value of an IEEE binary16.
constexpr float from_float16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  std::uint32_t bits = (magnitude << 13) + ((127U - 15U) << 23);
  if (magnitude >= 0x7C00) bits = 0x7F800000 | magnitude << 13;  // infinity and NaN
  if (magnitude < 0x0400) bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);  // subnormal
  return std::bit_cast<float>(sign | bits);
}

constexpr float from_bfloat16(std::uint16_t value) { return std::bit_cast<float>(std::uint32_t{value} << 16); }

}  // namespace bale
