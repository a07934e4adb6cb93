// Changes of one pixel, without vectors. The results are Pillow's: blending in float, truncated, not rounded (its
// Blend.c), gray in fixed point, HSV in 8 bits (its Convert.c). Internal.
//
// Must be compiled without contraction of a * b + c. Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bale/formats/image/color/color_change.hpp"
#include "bale/formats/image/color/hue_tables.hpp"

namespace bale::image_detail {

inline std::uint8_t plain_luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
}

inline std::uint8_t plain_blend(int from, int to, float factor) {
  const float mixed = static_cast<float>(from) + factor * static_cast<float>(to - from);
  return static_cast<std::uint8_t>(static_cast<int>(std::clamp(mixed, 0.0F, 255.0F)));
}

inline void plain_change(const PointChange& change, std::uint8_t* rgb) {
  for (std::size_t channel = 0; channel < 3; ++channel) rgb[channel] = change.tables[channel][rgb[channel]];
}

inline void plain_change(const SaturationChange& change, std::uint8_t* rgb) {
  const std::uint8_t gray = plain_luma(rgb);
  for (std::size_t channel = 0; channel < 3; ++channel) rgb[channel] = plain_blend(gray, rgb[channel], change.factor);
}

inline void plain_change(const GrayChange&, std::uint8_t* rgb) { rgb[0] = rgb[1] = rgb[2] = plain_luma(rgb); }

/// In 255ths of the circle. hue_tables.hpp explains it.
inline std::uint8_t plain_hue(const std::uint8_t* rgb, int high, int low) {
  const int highest = rgb[0] == high ? 0 : rgb[1] == high ? 1 : 2;
  const int range = std::max(high - low, 1);
  const bool is_after = rgb[(highest + 2) % 3] == low;
  const int product = 85 * (rgb[0] + rgb[1] + rgb[2] - high - 2 * low);
  const int quotient = product / (2 * range);
  const int rest = product % (2 * range);
  const int base = 85 * highest;
  const int before = (highest == 0 ? 255 : base) - quotient - (rest != 0 ? 1 : 0);
  const int hue = is_after ? base + quotient : before;
  return static_cast<std::uint8_t>(rest == 0 && k_is_one_less[static_cast<std::size_t>(hue)] != 0 ? hue - 1 : hue);
}

inline void plain_change(const HueChange& change, std::uint8_t* rgb) {
  const int high = std::max({rgb[0], rgb[1], rgb[2]});
  const int low = std::min({rgb[0], rgb[1], rgb[2]});
  const auto hue = static_cast<std::uint8_t>(plain_hue(rgb, high, low) + change.steps);
  const int away = k_away[hue];
  const int range = high - low;
  const int rest = high == 0 ? 0 : 255 * range % high;
  const int drop = ((255 * range - rest) * away + 10837) / 21675;
  const auto lowest = static_cast<std::uint8_t>(low + (rest >> 7));
  for (int channel = 0; channel < 3; ++channel) {
    const bool is_high = (k_places[hue] >> channel & 1) != 0;
    const bool is_low = (k_places[hue] >> (channel + 3) & 1) != 0;
    rgb[channel] = static_cast<std::uint8_t>(is_high ? high : is_low ? lowest : high - drop);
  }
}

}  // namespace bale::image_detail
