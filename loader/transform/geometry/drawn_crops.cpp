// Compiled without floating-point contraction.
#include "bale/loader/transform/geometry/drawn_crops.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

constexpr std::uint64_t k_max_rounds = 1000;
constexpr std::uint64_t k_max_rectangles = 40'000;

/// A rectangle that may be taken if boxes fit; nullopt for one whose sides do not. An image of so few pixels that a
/// side becomes 0 ends torchvision with ZeroDivisionError.
std::optional<Region> draw_rectangle(const transforms::RandomIoUCrop& node, std::uint32_t width, std::uint32_t height,
                                     KeyedRandom& random) {
  const Range scale{node.min_scale, node.max_scale};
  const auto share = [&](std::uint32_t side) { return static_cast<std::uint32_t>(side * draw_between(scale, random)); };
  Region found;
  found.width = share(width);
  found.height = share(height);
  if (found.width == 0 || found.height == 0) return std::nullopt;
  const double ratio = static_cast<double>(found.width) / found.height;
  if (!(node.min_aspect_ratio <= ratio && ratio <= node.max_aspect_ratio)) return std::nullopt;
  found.x = static_cast<std::uint32_t>((width - found.width) * random.uniform());
  found.y = static_cast<std::uint32_t>((height - found.height) * random.uniform());
  return found;
}

/// The largest overlap of a box whose center is inside; nullopt if there is none.
std::optional<float> best_overlap(const Region& region, std::span<const Box> boxes) {
  std::optional<float> best;
  for (const Box& box : boxes) {
    if (!has_center_in(region, box)) continue;
    const float found = overlap(region, box);
    if (!best || found > *best || std::isnan(found)) best = found;
  }
  return best;
}

/// A side of the crop, rounded as torchvision's int(round(side)); 0 if it is longer than `most`.
std::uint32_t side_within(double side, std::uint32_t most) {
  if (!(side < most + 1.0)) return 0;
  const double rounded = round_half_even(side);
  return rounded <= most ? static_cast<std::uint32_t>(rounded) : 0;
}

/// The largest central crop whose ratio is allowed.
Region central_crop(const Range& ratio, std::uint32_t width, std::uint32_t height) {
  const double ratio_of_image = static_cast<double>(width) / height;
  Region crop{.width = width, .height = height};
  // At least one pixel: torchvision fails if a side is rounded to 0.
  if (ratio_of_image < ratio.low) {
    crop.height = std::max(side_within(width / ratio.low, height), 1U);
  } else if (ratio_of_image > ratio.high) {
    crop.width = std::max(side_within(height * ratio.high, width), 1U);
  }
  crop.x = (width - crop.width) / 2;
  crop.y = (height - crop.height) / 2;
  return crop;
}

}  // namespace

// Source: torchvision's RandomIoUCrop.make_params.
std::optional<Region> draw_iou_crop(const transforms::RandomIoUCrop& node, std::uint32_t width, std::uint32_t height,
                                    std::span<const Box> boxes, KeyedRandom& random) {
  std::vector<Box> inside;  // without one, no rectangle can be taken
  const Region whole{.width = width, .height = height};
  std::copy_if(boxes.begin(), boxes.end(), std::back_inserter(inside),
               [&](const Box& box) { return has_center_in(whole, box); });
  std::uint64_t num_rectangles = 0;
  for (std::uint64_t round = 0; round < k_max_rounds; ++round) {
    const double least = node.sampler_options[random.below(node.sampler_options.size())];
    if (least >= 1) return std::nullopt;
    for (std::uint32_t i = 0; !inside.empty() && i < node.trials; ++i) {
      if (++num_rectangles > k_max_rectangles) return std::nullopt;
      const auto region = draw_rectangle(node, width, height, random);
      const auto best = region ? best_overlap(*region, inside) : std::nullopt;
      if (best && !(*best < static_cast<float>(least))) return region;
    }
  }
  return std::nullopt;
}

Region iou_crop_of(std::span<const Step> steps) {
  for (const Step& step : steps) {
    if (const auto* zero = std::get_if<step::ZeroBoundingBoxes>(&step)) {
      return {.x = zero->left, .y = zero->top, .width = zero->width, .height = zero->height};
    }
  }
  return {};
}

double draw_between(const Range& range, KeyedRandom& random) {
  return range.low + (range.high - range.low) * random.uniform();
}

Region draw_resized_crop(const Range& scale, const Range& ratio_range, KeyedRandom& random, std::uint32_t width,
                         std::uint32_t height) {
  const double area = static_cast<double>(width) * height;
  const double log_low = portable_log(ratio_range.low);
  const double log_high = portable_log(ratio_range.high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * draw_between(scale, random);
    const double ratio = portable_exp(draw_between({log_low, log_high}, random));
    Region crop{.width = side_within(std::sqrt(target * ratio), width),
                .height = side_within(std::sqrt(target / ratio), height)};
    if (crop.width == 0 || crop.height == 0) continue;
    crop.y = static_cast<std::uint32_t>(random.below(std::uint64_t{height} - crop.height + 1));
    crop.x = static_cast<std::uint32_t>(random.below(std::uint64_t{width} - crop.width + 1));
    return crop;
  }
  return central_crop(ratio_range, width, height);
}

}  // namespace bale::transform_detail
