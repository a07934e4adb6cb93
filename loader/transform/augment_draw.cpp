// After torchvision.transforms: RandomResizedCrop.get_params, ColorJitter.get_params, RandomHorizontalFlip,
// RandomGrayscale. Compiled without floating-point contraction.
#include "bale/loader/transform/augment_draw.hpp"

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/geometry/resized_crop.hpp"
#include "bale/loader/transform/random/streams.hpp"

namespace bale {
namespace {

using transform_detail::Stream;
using transform_detail::stream_of;

double draw_factor(const Range& range, const DrawKey& key, Stream stream) {
  KeyedRandom random = stream_of(key, stream);
  return transform_detail::draw_between(range, random);
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
  KeyedRandom crop_random = stream_of(key, Stream::crop);
  draw.crop = transform_detail::draw_resized_crop(transform.scale, transform.ratio, crop_random, width, height);
  draw.flip = draw_event(transform.flip_probability, key, Stream::flip);
  if (transform.jitter.active()) draw_jitter(transform.jitter, key, draw);
  draw.gray = draw_event(transform.gray_probability, key, Stream::gray);
  return draw;
}

}  // namespace bale
