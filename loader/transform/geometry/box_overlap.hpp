// How a box lies to a rectangle of pixels: torchvision's arithmetic, in float32.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/box.hpp"

namespace bale::transform_detail {

inline float right_of(const Region& region) { return static_cast<float>(std::uint64_t{region.x} + region.width); }
inline float bottom_of(const Region& region) { return static_cast<float>(std::uint64_t{region.y} + region.height); }

/// Whether the center is inside, not on an edge.
inline bool has_center_in(const Region& region, const Box& box) {
  const float x = 0.5F * (box.x0 + box.x1);
  const float y = 0.5F * (box.y0 + box.y1);
  return static_cast<float>(region.x) < x && x < right_of(region) && static_cast<float>(region.y) < y &&
         y < bottom_of(region);
}

/// Intersection over union.
inline float overlap(const Region& region, const Box& box) {
  const auto left = static_cast<float>(region.x);
  const auto top = static_cast<float>(region.y);
  const float right = right_of(region);
  const float bottom = bottom_of(region);
  const float width = std::max(std::min(box.x1, right) - std::max(box.x0, left), 0.0F);
  const float height = std::max(std::min(box.y1, bottom) - std::max(box.y0, top), 0.0F);
  const float both = width * height;
  const float areas = (box.x1 - box.x0) * (box.y1 - box.y0) + (right - left) * (bottom - top);
  return both / (areas - both);
}

}  // namespace bale::transform_detail
