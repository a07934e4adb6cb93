// Compiled without floating-point contraction.
#include "bale/loader/transform/geometry/iou_crop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bale/loader/transform/geometry/box_overlap.hpp"
#include "bale/loader/transform/geometry/resized_crop.hpp"

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

}  // namespace bale::transform_detail
