// Compiled without floating-point contraction.
#include <cmath>

#include "bale/loader/transform/draw/draw_node.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

/// A rectangle smaller than the image in both directions; nullopt if ten tries give none.
/// Source: torchvision's RandomErasing and timm's, which divides the area by the number of rectangles.
std::optional<Region> draw_rectangle(const transforms::RandomErasing& node, double area, KeyedRandom& random,
                                     const Drawing& drawing) {
  const Range log_ratio{portable_log(node.ratio.low), portable_log(node.ratio.high)};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * draw_between(node.scale, random);
    const double ratio = portable_exp(draw_between(log_ratio, random));
    const double height = round_half_even(std::sqrt(target * ratio));
    const double width = round_half_even(std::sqrt(target / ratio));
    if (!(height < drawing.height() && width < drawing.width())) continue;
    Region found{.width = static_cast<std::uint32_t>(width), .height = static_cast<std::uint32_t>(height)};
    found.y = static_cast<std::uint32_t>(random.below(drawing.height() - found.height + 1));
    found.x = static_cast<std::uint32_t>(random.below(drawing.width() - found.width + 1));
    return found;
  }
  return std::nullopt;
}

}  // namespace

void draw_erasing(const transforms::RandomErasing& node, bool converted, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  if (sequence.uniform() >= node.p) return;
  const std::uint64_t count = node.min_count + sequence.below(node.max_count - node.min_count + 1);
  const double area = static_cast<double>(drawing.width()) * drawing.height() / static_cast<double>(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto found = draw_rectangle(node, area, sequence, drawing);
    if (!found) continue;
    drawing.add(step::Erase{.left = found->x,
                            .top = found->y,
                            .width = found->width,
                            .height = found->height,
                            .with = node.with,
                            .value = node.value,
                            .noise_seed = sequence.next(),
                            .converted = converted});
  }
}

}  // namespace bale::transform_detail
