// The rectangles of RandomIoUCrop and RandomResizedCrop.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>

#include "bale/formats/base/random.hpp"
#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/box.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transform.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

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
