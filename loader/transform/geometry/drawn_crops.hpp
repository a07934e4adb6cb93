// The rectangles of RandomIoUCrop and RandomResizedCrop.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "bale/formats/base/random.hpp"
#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/box.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transform.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

// How a box lies to a rectangle of pixels: torchvision's arithmetic, in float32.
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

/// What a list draws by in addition to an image's size. Lifetime: borrows from the caller.
struct BoxesOfImage {
  std::span<const Box> boxes{};   // of the stored image
  const Region* drawn = nullptr;  // AppliedTransform::iou_crop of an earlier draw; the boxes are not used then
};

/// For an image of width x height pixels with these boxes; nullopt: leave it as it is.
std::optional<Region> draw_iou_crop(const transforms::RandomIoUCrop& node, std::uint32_t width, std::uint32_t height,
                                    std::span<const Box> boxes, KeyedRandom& random);

/// AppliedTransform::iou_crop of these steps.
Region iou_crop_of(std::span<const Step> steps);

/// torchvision's RandomResizedCrop.get_params: ten tries, then the central crop of the nearest ratio. `scale` is the
/// crop's area as a share of the image's, `ratio` its width / height.
Region draw_resized_crop(const Range& scale, const Range& ratio, KeyedRandom& random, std::uint32_t width,
                         std::uint32_t height);

/// A number from [low, high).
double draw_between(const Range& range, KeyedRandom& random);

}  // namespace bale::transform_detail
