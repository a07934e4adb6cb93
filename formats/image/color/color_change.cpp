// Compiled without floating-point contraction.
#include "bale/formats/image/color/color_change.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "bale/formats/image/color/color.hpp"
#include "bale/formats/image/color/hue_tables.hpp"

namespace bale::image_detail {
namespace {

constexpr Multiplier in_all_lanes(unsigned value) {
  Multiplier multiplier{};
  for (std::uint16_t& lane : multiplier) lane = static_cast<std::uint16_t>(value);
  return multiplier;
}

}  // namespace

constexpr LumaWeights k_luma_upper{in_all_lanes(19595 >> 8), in_all_lanes(38470 >> 8), in_all_lanes(7471 >> 8)};
constexpr LumaWeights k_luma_lower{in_all_lanes(19595 & 255), in_all_lanes(38470 & 255), in_all_lanes(7471 & 255)};
constexpr Multiplier k_85 = in_all_lanes(85);

namespace {

/// What the line gives, without the increments.
int on_line(const LinearTable& line, int value) {
  const int sum = std::min((value * line.slope >> 8) + line.add, 65535);
  return std::min(std::max(sum - line.subtract, 0) >> 6, 255);
}

/// The blend's table as a line; nullopt if it is too steep or not close enough to one.
std::optional<LinearTable> line_of(const PointTable& table, int level, float factor) {
  if (!(0 <= factor && factor < 4)) return std::nullopt;
  LinearTable line{.slope = static_cast<std::uint16_t>(factor * 16384)};
  const float offset = std::floor(static_cast<float>(level * 64) * (1 - factor));
  line.add = static_cast<std::uint16_t>(std::max(offset, 0.0F));
  line.subtract = static_cast<std::uint16_t>(std::max(-offset, 0.0F));
  for (int value = 0; value < 256; ++value) {
    const int missing = table[static_cast<std::size_t>(value)] - on_line(line, value);
    if (missing < 0 || missing > 1) return std::nullopt;
    line.increments[static_cast<std::size_t>(value / 8)] |= static_cast<std::uint8_t>(missing << value % 8);
  }
  return line;
}

/// Whether a difference to the gray level can be multiplied before the gray level is known. In float their sum could be
/// rounded to an integer that it does not reach if the fraction of the product is tiny or almost 1.
bool is_far_from_integers(float product) {
  constexpr float k_margin = 1.0F / 65536;
  const float fraction = product - std::floor(product);
  return product >= 256 || fraction == 0 || (k_margin <= fraction && fraction <= 1 - k_margin);
}

}  // namespace

PointChange blend_change(std::uint8_t level, double factor) {
  const PointTable table = blend_table(level, factor);
  PointChange change{.tables = {table, table, table}};
  if (const auto line = line_of(table, level, static_cast<float>(factor))) change.lines[change.num_lines++] = *line;
  return change;
}

SaturationChange saturation_change(double factor) {
  SaturationChange change{.factor = static_cast<float>(factor)};
  if (!(0 <= change.factor)) return change;
  change.has_tables = true;
  for (int difference = 0; difference < 256; ++difference) {
    const float product = change.factor * static_cast<float>(difference);
    const auto limited = [](float value) { return static_cast<std::uint8_t>(std::min(value, 255.0F)); };
    change.up[static_cast<std::size_t>(difference)] = limited(std::floor(product));
    change.down[static_cast<std::size_t>(difference)] = limited(std::ceil(product));
    if (!is_far_from_integers(product)) change.has_tables = false;
  }
  return change;
}

HueChange hue_change(double turn) {
  // torchvision's np.int32(turn * 255).astype(np.uint8): truncated toward zero, then modulo 256. Its older
  // np.uint8(turn * 255) gives the same on x86, and is undefined for negative turns elsewhere.
  return {.steps = static_cast<std::uint8_t>(static_cast<int>(turn * 255))};
}

PointChange composed(const PointChange& first, const PointChange& second) {
  PointChange both;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) {
      both.tables[channel][value] = second.tables[channel][first.tables[channel][value]];
    }
  }
  if (first.num_lines == 1 && second.num_lines == 1) {
    both.lines = {first.lines[0], second.lines[0]};
    both.num_lines = 2;
  }
  return both;
}

}  // namespace bale::image_detail

namespace bale {
namespace {

void change(const image_detail::ColorChange& one, std::uint8_t* rgb, std::size_t num_pixels) {
  image_detail::change_colors({&one, 1}, rgb, num_pixels);
}

}  // namespace

void adjust_brightness(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  change(image_detail::blend_change(0, factor), rgb, num_pixels);
}

void adjust_contrast(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  change(image_detail::blend_change(mean_gray(rgb, num_pixels), factor), rgb, num_pixels);
}

void adjust_saturation(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  change(image_detail::saturation_change(factor), rgb, num_pixels);
}

void adjust_hue(std::uint8_t* rgb, std::size_t num_pixels, double turn) {
  change(image_detail::hue_change(turn), rgb, num_pixels);
}

void make_gray(std::uint8_t* rgb, std::size_t num_pixels) { change(image_detail::GrayChange{}, rgb, num_pixels); }

}  // namespace bale
