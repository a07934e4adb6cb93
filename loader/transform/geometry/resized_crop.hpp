// The crop of RandomResizedCrop.
#pragma once

#include "bale/formats/base/random.hpp"
#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::transform_detail {

/// torchvision's RandomResizedCrop.get_params: ten tries, then the central crop of the nearest ratio. `scale` is the
/// crop's area as a share of the image's, `ratio` its width / height.
Region draw_resized_crop(const Range& scale, const Range& ratio, KeyedRandom& random, std::uint32_t width,
                         std::uint32_t height);

/// A number from [low, high).
double draw_between(const Range& range, KeyedRandom& random);

}  // namespace bale::transform_detail
