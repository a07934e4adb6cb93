#include "bale/loader/transform/fused_start.hpp"

namespace bale::transform_detail {
namespace {

/// The part of `whole` that a crop takes; nullopt if it reaches over an edge.
std::optional<Region> inside(const Region& whole, const step::Crop& crop) {
  if (crop.left < 0 || crop.top < 0) return std::nullopt;
  const auto left = static_cast<std::uint32_t>(crop.left);
  const auto top = static_cast<std::uint32_t>(crop.top);
  if (left > whole.width || top > whole.height) return std::nullopt;
  if (crop.width > whole.width - left || crop.height > whole.height - top) return std::nullopt;
  return Region{.x = whole.x + left, .y = whole.y + top, .width = crop.width, .height = crop.height};
}

/// Applies the crops at the start of `steps` to `region`. Returns their number.
std::size_t take_crops(std::span<const Step> steps, Region& region) {
  std::size_t taken = 0;
  for (; taken < steps.size(); ++taken) {
    const auto* const crop = std::get_if<step::Crop>(&steps[taken]);
    const auto part = crop == nullptr ? std::nullopt : inside(region, *crop);
    if (!part) break;
    region = *part;
  }
  return taken;
}

bool is_fast(Filter filter) { return filter == Filter::bilinear || filter == Filter::bicubic; }

}  // namespace

FusedStart fuse_start(std::span<const Step> steps, std::uint32_t width, std::uint32_t height) {
  FusedStart start{.needed = {.width = width, .height = height}};
  start.num_steps = take_crops(steps, start.needed);
  const auto rest = [&] { return steps.subspan(start.num_steps); };
  const auto* const resize = rest().empty() ? nullptr : std::get_if<step::Resize>(&rest().front());
  if (resize == nullptr || !is_fast(resize->filter)) return start;

  ResizeSpec spec = resize_whole(start.needed.width, start.needed.height, resize->width, resize->height);
  spec.filter = resize->filter;
  spec.pass_order = resize->pass_order;
  ++start.num_steps;
  start.num_steps += take_crops(rest(), spec.window);
  if (!rest().empty() && std::holds_alternative<step::HorizontalFlip>(rest().front())) {
    spec.mirror = true;
    ++start.num_steps;
  }
  Region needed = resize_needs(spec);
  needed.x += start.needed.x;
  needed.y += start.needed.y;
  start.needed = needed;
  start.resize = spec;
  return start;
}

}  // namespace bale::transform_detail
