#include "bale/loader/transform/sample_pipeline.hpp"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/image/colour.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/loader/transform/convert.hpp"

namespace bale {
namespace {

std::uint8_t* as_pixels(MutableBytes bytes) { return reinterpret_cast<std::uint8_t*>(bytes.data()); }

void adjust(AugmentDraw::Step step, const ColorJitter& jitter, const AugmentDraw& draw, std::uint8_t* rgb,
            std::size_t num_pixels) {
  // A factor of 1 changes nothing. Hue changes pixels even where 0 was drawn, by its way through 8-bit HSV.
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

  void copy_raw(Bytes image, MutableBytes out, AppliedTransform& applied) const;
  void resize(const ResizeSpec& spec, const Region& needed, MutableBytes out, const AugmentDraw& draw);
  void place(const Region& whole, MutableBytes out, AppliedTransform& applied);
  void require_room(MutableBytes out, std::uint64_t bytes) const;

  Transform transform;
  std::uint64_t max_pixels;
  transform_detail::PixelConverter converter;
  ImageDecoder decoder{};
  Resizer resizer{};
  std::vector<std::uint8_t> scratch{};  // the resized image, where it is not of the batch's type and layout yet
};

/// Fixed shapes must be given their room; ragged and raw images that are larger than theirs are bad samples.
void SamplePipeline::State::require_room(MutableBytes out, std::uint64_t bytes) const {
  if (bytes <= out.size()) return;
  throw Error(transform.has_fixed_shape() ? ErrorCode::invalid_argument : ErrorCode::unsupported,
              fmt::format("image needs {} bytes of its batch, which has {} for it", bytes, out.size()));
}

void SamplePipeline::State::copy_raw(Bytes image, MutableBytes out, AppliedTransform& applied) const {
  require_room(out, image.size());
  if (!image.empty()) std::memcpy(out.data(), image.data(), image.size());
  applied.bytes = image.size();
}

/// Train and eval: decodes `needed`, resizes, and changes colours, in place wherever the output allows.
void SamplePipeline::State::resize(const ResizeSpec& spec, const Region& needed, MutableBytes out,
                                   const AugmentDraw& draw) {
  const std::size_t num_pixels = std::size_t{transform.width} * transform.height;
  const std::size_t stride = std::size_t{transform.width} * 3;
  const bool direct = transform.dtype == DType::uint8 && transform.layout == PixelLayout::nhwc;
  if (!direct) scratch.resize(num_pixels * 3);
  std::uint8_t* rgb = direct ? as_pixels(out) : scratch.data();

  resizer.run(spec, decoder.read(needed), rgb, stride);
  if (draw.jitter) {
    for (const AugmentDraw::Step step : draw.order) adjust(step, transform.jitter, draw, rgb, num_pixels);
  }
  if (draw.grey) make_grey(rgb, num_pixels);
  if (!direct) {
    converter.run({rgb, stride, transform.width, transform.height}, transform.width, transform.height, out.data());
  }
}

/// Padded and ragged: the image as it is.
void SamplePipeline::State::place(const Region& whole, MutableBytes out, AppliedTransform& applied) {
  std::uint32_t width = whole.width;
  std::uint32_t height = whole.height;
  if (transform.kind == Transform::Kind::padded) {
    if (width > transform.width || height > transform.height) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("image of {}x{} pixels is larger than the {}x{} that it is padded to", width, height,
                              transform.width, transform.height));
    }
    width = transform.width;
    height = transform.height;
  }
  applied.bytes = std::uint64_t{width} * height * 3 * dtype_bytes(transform.dtype);
  require_room(out, applied.bytes);
  const PixelView pixels = decoder.read(whole);
  if (width != whole.width || height != whole.height) std::memset(out.data(), 0, applied.bytes);
  converter.run(pixels, width, height, out.data());
}

SamplePipeline::SamplePipeline(const Transform& transform, std::uint64_t max_pixels) {
  check_transform(transform);
  state_ = std::make_unique<State>(transform, max_pixels);
}

SamplePipeline::~SamplePipeline() = default;
SamplePipeline::SamplePipeline(SamplePipeline&&) noexcept = default;
SamplePipeline& SamplePipeline::operator=(SamplePipeline&&) noexcept = default;

AppliedTransform SamplePipeline::run(Bytes image, const DrawKey& key, MutableBytes out, const KeptEntryPoints& kept) {
  const Transform& transform = state_->transform;
  AppliedTransform applied;
  if (transform.kind == Transform::Kind::raw) {
    state_->copy_raw(image, out, applied);
    return applied;
  }
  if (transform.has_fixed_shape()) state_->require_room(out, transform.image_bytes());
  const ImageHeader header = state_->decoder.open(image, state_->max_pixels);
  state_->decoder.use_entry_points(kept);
  applied.source_width = header.width;
  applied.source_height = header.height;
  applied.draw = draw_augment(transform, key, header.width, header.height);
  const Region& crop = applied.draw.crop;
  if (transform.kind != Transform::Kind::train && transform.kind != Transform::Kind::eval) {
    state_->place(crop, out, applied);
    return applied;
  }

  // As torchvision does: train crops first, so what lies around the crop has no influence; eval resizes the whole
  // image.
  const bool train = transform.kind == Transform::Kind::train;
  ResizeSpec spec = train ? resize_whole(crop.width, crop.height, transform.width, transform.height)
                          : resize_short_and_center_crop(header.width, header.height, transform.resize_short,
                                                         transform.width, transform.height);
  spec.filter = transform.filter;
  spec.pass_order = transform.pass_order;
  spec.mirror = applied.draw.flip;
  state_->resize(spec, train ? crop : resize_needs(spec), out, applied.draw);
  applied.bytes = transform.image_bytes();
  return applied;
}

}  // namespace bale
