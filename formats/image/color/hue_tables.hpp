// What changing the hue of a pixel takes from tables. Internal.
//
// Pillow converts a pixel to 8-bit HSV and back in a mixture of float and double. The same results can be had of
// integers; all were compared:
// - Hue, in 255ths of the circle, is that of the highest channel (0, 85 or 170), plus or minus
//   42.5 * (middle - lowest) / range. It is rounded down. If it is an integer without that, rounding in float makes
//   some of the values one less.
// - saturation * value is 255 * range less the rest of its division by value.
// - Back to RGB, the lowest channel is value less saturation * value / 255, to the nearest integer. That is the lowest
//   one of before, plus 1 if the rest is 128 or more.
// - The middle channel is value less saturation * value * away / 21675, to the nearest integer, where `away` says how
//   far it is from the highest one in 85ths of a sixth of the circle. The fraction is never 1/2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// By hue. Aligned for vectors.
struct alignas(64) HueTable : std::array<std::uint8_t, 256> {};

template <typename ValueOf>
constexpr HueTable make_hue_table(const ValueOf& value_of) {
  HueTable table{};
  for (unsigned hue = 0; hue < 256; ++hue) table[hue] = static_cast<std::uint8_t>(value_of(hue));
  return table;
}

/// 1 for the hues that are one less if they are integers without rounding.
inline constexpr HueTable k_is_one_less = [] {
  HueTable table{};
  for (std::size_t hue = 1; hue <= 31; ++hue) table[hue] = 1;
  for (const std::size_t hue : {88, 92, 96, 100, 104}) table[hue] = 1;
  for (const std::size_t before : {1, 5, 9, 13, 17, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41})
    table[170 - before] = 1;
  for (const std::size_t after : {3, 6, 7, 11, 14, 15, 19, 23, 27, 31, 35, 39}) table[170 + after] = 1;
  return table;
}();

/// How far the middle channel is from the highest one. It falls in sectors 1, 3 and 5.
inline constexpr HueTable k_away = make_hue_table([](unsigned hue) {
  const unsigned part = 2 * hue % 85;
  return 2 * hue / 85 % 2 == 1 ? part : 85 - part;
});

/// Bit c: channel c is the highest one. Bit c + 3: it is the lowest one.
constexpr std::uint8_t hue_places(unsigned sector) {
  constexpr unsigned k_highest[6] = {0, 1, 1, 2, 2, 0};
  constexpr unsigned k_lowest[6] = {2, 2, 0, 0, 1, 1};
  return static_cast<std::uint8_t>(1U << k_highest[sector % 6] | 8U << k_lowest[sector % 6]);
}
inline constexpr HueTable k_places = make_hue_table([](unsigned hue) { return hue_places(2 * hue / 85); });

// Factors for vectors of 16-bit lanes. Internal.
//
// They are defined in color_change.cpp, which uses none, so that compilers do not know them. Of a multiplication by a
// constant, GCC makes several shifts and additions, which take longer.

/// One vector, all lanes the same.
struct alignas(64) Multiplier : std::array<std::uint16_t, 32> {};

/// Upper and lower bytes of the weights of luma.
struct LumaWeights {
  Multiplier red;
  Multiplier green;
  Multiplier blue;
};
extern const LumaWeights k_luma_upper;
extern const LumaWeights k_luma_lower;

extern const Multiplier k_85;

}  // namespace bale::image_detail
