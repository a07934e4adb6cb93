// After torchvision.transforms.RandomResizedCrop.get_params. Compiled without floating-point contraction.
#include "bale/loader/transform/geometry/resized_crop.hpp"

#include <algorithm>
#include <cmath>

#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

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
