// How a box lies to a rectangle of pixels: torchvision's arithmetic, in float32.
#pragma once

#include <algorithm>

#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/box.hpp"

namespace bale::transform_detail {

/// Whether the center is inside, not on an edge.
inline bool has_center_in(const Region& region, const Box& box) {
  const float x = 0.5F * (box.x0 + box.x1);
  const float y = 0.5F * (box.y0 + box.y1);
  return static_cast<float>(region.x) < x && x < static_cast<float>(region.x + region.width) &&
         static_cast<float>(region.y) < y && y < static_cast<float>(region.y + region.height);
}

/// Intersection over union.
inline float overlap(const Region& region, const Box& box) {
  const auto left = static_cast<float>(region.x);
  const auto top = static_cast<float>(region.y);
  const auto right = static_cast<float>(region.x + region.width);
  const auto bottom = static_cast<float>(region.y + region.height);
  const float width = std::max(std::min(box.x1, right) - std::max(box.x0, left), 0.0F);
  const float height = std::max(std::min(box.y1, bottom) - std::max(box.y0, top), 0.0F);
  const float both = width * height;
  const float areas = (box.x1 - box.x0) * (box.y1 - box.y0) + (right - left) * (bottom - top);
  return both / (areas - both);
}

}  // namespace bale::transform_detail
