#include "bale/loader/transform/sample_pipeline.hpp"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/color.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/loader/transform/convert.hpp"

namespace bale {
namespace {

std::uint8_t* as_pixels(MutableBytes bytes) { return reinterpret_cast<std::uint8_t*>(bytes.data()); }

void adjust(AugmentDraw::Step step, const ColorJitter& jitter, const AugmentDraw& draw, std::uint8_t* rgb,
            std::size_t num_pixels) {
  // A factor of 1 changes nothing. Hue changes pixels even if 0 was drawn: it converts them to 8-bit HSV and back.
  switch (step) {
    case AugmentDraw::Step::brightness:
      if (draw.brightness != 1) adjust_brightness(rgb, num_pixels, draw.brightness);
      return;
    case AugmentDraw::Step::contrast:
      if (draw.contrast != 1) adjust_contrast(rgb, num_pixels, draw.contrast);
      return;
    case AugmentDraw::Step::saturation:
      if (draw.saturation != 1) adjust_saturation(rgb, num_pixels, draw.saturation);
      return;
    case AugmentDraw::Step::hue:
      if (jitter.hue != Range{0, 0}) adjust_hue(rgb, num_pixels, draw.hue);
      return;
  }
}

}  // namespace

struct SamplePipeline::State {
  State(const Transform& options, std::uint64_t pixel_limit)
      : transform(options), max_pixels(pixel_limit), converter(options) {}

  void copy_raw(MutableBytes out);
  void resize(MutableBytes out);
  void place(MutableBytes out);
  void require_room(MutableBytes out, std::uint64_t bytes) const;

  Transform transform;
  std::uint64_t max_pixels;
  transform_detail::PixelConverter converter;
  ImageDecoder decoder{};
  Resizer resizer{};
  std::vector<std::uint8_t> scratch{};  // the resized image, before it is converted to the batch's type and layout

  // Of the image that was passed to begin().
  Bytes image{};
  AppliedTransform applied{};
  ResizeSpec spec{};
  Region needed{};  // pixels to decode
};

/// For a fixed shape, too little room is the caller's error. A ragged or raw image that is too large is a bad sample.
void SamplePipeline::State::require_room(MutableBytes out, std::uint64_t bytes) const {
  if (bytes <= out.size()) return;
  throw Error(transform.has_fixed_shape() ? ErrorCode::invalid_argument : ErrorCode::unsupported,
              fmt::format("image needs {} bytes of its batch, which has {} for it", bytes, out.size()));
}

void SamplePipeline::State::copy_raw(MutableBytes out) {
  require_room(out, image.size());
  if (!image.empty()) std::memcpy(out.data(), image.data(), image.size());
  applied.bytes = image.size();
}

/// Train and val: decodes the needed region, resizes it and changes colors, directly in `out` for uint8 and nhwc.
void SamplePipeline::State::resize(MutableBytes out) {
  const AugmentDraw& draw = applied.draw;
  const std::size_t num_pixels = std::size_t{transform.width} * transform.height;
  const std::size_t stride = std::size_t{transform.width} * 3;
  const bool direct = transform.dtype == DType::uint8 && transform.layout == PixelLayout::nhwc;
  if (!direct) scratch.resize(num_pixels * 3);
  std::uint8_t* rgb = direct ? as_pixels(out) : scratch.data();

  resizer.run(spec, decoder.read(needed), rgb, stride);
  if (draw.jitter) {
    for (const AugmentDraw::Step step : draw.order) adjust(step, transform.jitter, draw, rgb, num_pixels);
  }
  if (draw.gray) make_gray(rgb, num_pixels);
  if (!direct) {
    converter.run({rgb, stride, transform.width, transform.height}, transform.width, transform.height, out.data());
  }
  applied.bytes = transform.image_bytes();
}

/// Padded and ragged: the image, unscaled.
void SamplePipeline::State::place(MutableBytes out) {
  const bool padded = transform.kind == Transform::Kind::padded;
  const std::uint32_t width = padded ? transform.width : needed.width;
  const std::uint32_t height = padded ? transform.height : needed.height;
  applied.bytes = std::uint64_t{width} * height * 3 * dtype_bytes(transform.dtype);
  if (out.empty()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("image of {}x{} pixels whose size the index does not state", width, height));
  }
  require_room(out, applied.bytes);
  const PixelView pixels = decoder.read(needed);
  if (width != needed.width || height != needed.height) std::memset(out.data(), 0, applied.bytes);
  converter.run(pixels, width, height, out.data());
}

SamplePipeline::SamplePipeline(const Transform& transform, std::uint64_t max_pixels) {
  check_transform(transform);
  state_ = std::make_unique<State>(transform, max_pixels);
}

SamplePipeline::~SamplePipeline() = default;
SamplePipeline::SamplePipeline(SamplePipeline&&) noexcept = default;
SamplePipeline& SamplePipeline::operator=(SamplePipeline&&) noexcept = default;

AppliedTransform SamplePipeline::run(Bytes image, const DrawKey& key, MutableBytes out, const KeptSeekPoints& kept) {
  begin(image, key, kept);
  return finish(out);
}

void SamplePipeline::begin(Bytes image, const DrawKey& key, const KeptSeekPoints& kept, WholeCheck check) {
  State& state = *state_;
  const Transform& transform = state.transform;
  state.image = image;
  state.applied = {};
  state.needed = {};
  if (transform.kind == Transform::Kind::raw) return;
  const ImageHeader header = state.decoder.open(image, state.max_pixels, check);
  state.decoder.use_seek_points(kept);
  state.applied.source_width = header.width;
  state.applied.source_height = header.height;
  state.applied.draw = draw_augment(transform, key, header.width, header.height);
  const Region& crop = state.applied.draw.crop;
  if (transform.kind == Transform::Kind::padded && (crop.width > transform.width || crop.height > transform.height)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("image of {}x{} pixels is larger than the {}x{} that it is padded to", crop.width,
                            crop.height, transform.width, transform.height));
  }
  state.needed = crop;
  if (transform.kind != Transform::Kind::train && transform.kind != Transform::Kind::val) return;

  // As in torchvision: train crops first, so pixels outside the crop have no effect; val resizes the whole image.
  const bool train = transform.kind == Transform::Kind::train;
  state.spec = train ? resize_whole(crop.width, crop.height, transform.width, transform.height)
                     : resize_short_and_center_crop(header.width, header.height, transform.resize_short,
                                                    transform.width, transform.height);
  state.spec.filter = transform.filter;
  state.spec.pass_order = transform.pass_order;
  state.spec.mirror = state.applied.draw.flip;
  if (!train) state.needed = resize_needs(state.spec);
}

void SamplePipeline::decode_ahead(SamplePipeline& first, SamplePipeline& second) {
  ImageDecoder::decode_ahead({&first.state_->decoder, first.state_->needed},
                             {&second.state_->decoder, second.state_->needed});
}

AppliedTransform SamplePipeline::finish(MutableBytes out) {
  State& state = *state_;
  const Transform& transform = state.transform;
  if (transform.has_fixed_shape()) state.require_room(out, transform.image_bytes());
  if (transform.kind == Transform::Kind::raw) {
    state.copy_raw(out);
  } else if (transform.kind == Transform::Kind::train || transform.kind == Transform::Kind::val) {
    state.resize(out);
  } else {
    state.place(out);
  }
  return state.applied;
}

}  // namespace bale
