// Changes of color, with their parameters prepared, and running several of them on the pixels of an image at once.
// Internal.
//
// The results are those of bale/formats/image/color/color.hpp. Threads: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "bale/formats/image/point/point_tables.hpp"

namespace bale::image_detail {

/// A table that is almost a line: (v * slope / 256 + add - subtract) / 64, each operation rounded down and limited to
/// 16 bits, at most 255; and 1 more if bit v % 8 of increments[v / 8] is set.
struct LinearTable {
  std::uint16_t slope = 0;
  std::uint16_t add = 0;
  std::uint16_t subtract = 0;
  std::array<std::uint8_t, 32> increments{};
};

/// A function of the value and its channel.
struct PointChange {
  PointTables tables{};
  /// The same tables as lines, of which the second is applied to what the first gives. None if they are not known.
  std::array<LinearTable, 2> lines{};
  std::size_t num_lines = 0;

  bool is_same_for_all_channels() const { return tables[0] == tables[1] && tables[1] == tables[2]; }
};

/// Blends each pixel with its gray level.
struct SaturationChange {
  float factor = 1;
  /// Whether the result is gray + up[value - gray] or, for values below the gray level, gray - down[gray - value].
  bool has_tables = false;
  PointTable up{};
  PointTable down{};
};

/// Shifts the hue by steps / 256 of the color circle.
struct HueChange {
  std::uint8_t steps = 0;
};

/// The gray level in all channels.
struct GrayChange {};

using ColorChange = std::variant<PointChange, SaturationChange, HueChange, GrayChange>;

/// Image.blend with an image of that level.
PointChange blend_change(std::uint8_t level, double factor);
SaturationChange saturation_change(double factor);
/// `turn` of the color circle, within [-0.5, 0.5].
HueChange hue_change(double turn);
/// `first`, then `second`.
PointChange composed(const PointChange& first, const PointChange& second);

/// Makes the changes, one after the other, to `num_pixels` pixels of three bytes.
void change_colors(std::span<const ColorChange> changes, std::uint8_t* rgb, std::size_t num_pixels);
/// The same. Returns the mean gray level of the results, rounded; 0 if there are no pixels.
std::uint8_t mean_gray_after(std::span<const ColorChange> changes, std::uint8_t* rgb, std::size_t num_pixels);

}  // namespace bale::image_detail
