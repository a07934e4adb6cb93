// After torchvision.transforms: RandomResizedCrop.get_params, ColorJitter.get_params, RandomHorizontalFlip,
// RandomGrayscale. Compiled without floating-point contraction.
#include "bale/loader/transform/augment_draw.hpp"

#include <algorithm>
#include <cmath>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/portable_math.hpp"

namespace bale {
namespace {

/// Each parameter has its own random sequence, so that turning one on or off does not change the others. The values
/// must not change: they are part of what a seed means.
enum class Stream : std::uint64_t { crop = 1, flip, order, brightness, contrast, saturation, hue, gray };

KeyedRandom stream_of(const DrawKey& key, Stream stream) {
  return {key.seed, key.epoch, key.sample, key.copy, static_cast<std::uint64_t>(stream)};
}

double draw_between(double low, double high, KeyedRandom& random) { return low + (high - low) * random.uniform(); }

/// A side of the crop, rounded as torchvision's int(round(side)); 0 if it is longer than `most`.
std::uint32_t side_within(double side, std::uint32_t most) {
  if (!(side < most + 1.0)) return 0;
  const double rounded = transform_detail::round_half_even(side);
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

Region draw_crop(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height) {
  KeyedRandom random = stream_of(key, Stream::crop);
  const double area = static_cast<double>(width) * height;
  const double log_low = transform_detail::portable_log(transform.ratio.low);
  const double log_high = transform_detail::portable_log(transform.ratio.high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * draw_between(transform.scale.low, transform.scale.high, random);
    const double ratio = transform_detail::portable_exp(draw_between(log_low, log_high, random));
    Region crop{.width = side_within(std::sqrt(target * ratio), width),
                .height = side_within(std::sqrt(target / ratio), height)};
    if (crop.width == 0 || crop.height == 0) continue;
    crop.y = static_cast<std::uint32_t>(random.below(std::uint64_t{height} - crop.height + 1));
    crop.x = static_cast<std::uint32_t>(random.below(std::uint64_t{width} - crop.width + 1));
    return crop;
  }
  return central_crop(transform.ratio, width, height);
}

double draw_factor(const Range& range, const DrawKey& key, Stream stream) {
  KeyedRandom random = stream_of(key, stream);
  return draw_between(range.low, range.high, random);
}

void draw_jitter(const ColorJitter& jitter, const DrawKey& key, AugmentDraw& draw) {
  draw.jitter = true;
  stream_of(key, Stream::order).shuffle(draw.order);
  draw.brightness = draw_factor(jitter.brightness, key, Stream::brightness);
  draw.contrast = draw_factor(jitter.contrast, key, Stream::contrast);
  draw.saturation = draw_factor(jitter.saturation, key, Stream::saturation);
  draw.hue = draw_factor(jitter.hue, key, Stream::hue);
}

bool draw_event(double probability, const DrawKey& key, Stream stream) {
  return stream_of(key, stream).uniform() < probability;
}

}  // namespace

AugmentDraw draw_augment(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height) {
  AugmentDraw draw{.crop = {.width = width, .height = height}};
  if (transform.kind != Transform::Kind::train) return draw;
  draw.crop = draw_crop(transform, key, width, height);
  draw.flip = draw_event(transform.flip_probability, key, Stream::flip);
  if (transform.jitter.active()) draw_jitter(transform.jitter, key, draw);
  draw.gray = draw_event(transform.gray_probability, key, Stream::gray);
  return draw;
}

}  // namespace bale
