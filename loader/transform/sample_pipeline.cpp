#include "bale/loader/transform/sample_pipeline.hpp"

#include <cstring>
#include <span>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/loader/transform/convert.hpp"
#include "bale/loader/transform/draw/step_drawer.hpp"
#include "bale/loader/transform/erase.hpp"
#include "bale/loader/transform/fused_start.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"

namespace bale {
namespace {

std::uint8_t* as_pixels(MutableBytes bytes) { return reinterpret_cast<std::uint8_t*>(bytes.data()); }

bool is_after_conversion(const Step& step) {
  const auto* const erase = std::get_if<step::Erase>(&step);
  return erase != nullptr && erase->converted;
}

}  // namespace

struct SamplePipeline::State {
  State(const Transform& options, std::uint64_t pixel_limit)
      : transform(options),
        max_pixels(pixel_limit),
        converter(options),
        drawer(options) {}

  bool runs_steps() const;
  void draw_steps(const DrawKey& key);
  void copy_raw(MutableBytes out);
  void run_steps(MutableBytes out);
  void make_start(std::uint8_t* rgb);
  void place(MutableBytes out);
  void require_room(MutableBytes out, std::uint64_t bytes) const;

  Transform transform;
  std::uint64_t max_pixels;
  transform_detail::PixelConverter converter;
  transform_detail::StepDrawer drawer;
  ImageDecoder decoder{};
  Resizer resizer{};
  transform_detail::StepRunner runner{};
  transform_detail::Picture picture{};  // before it is converted to the batch's type and layout

  // Of the image that was passed to begin().
  Bytes image{};
  AppliedTransform applied{};
  Steps steps{};
  transform_detail::FusedStart start{};
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

bool SamplePipeline::State::runs_steps() const {
  using Kind = Transform::Kind;
  return transform.kind == Kind::train || transform.kind == Kind::val || transform.kind == Kind::list;
}

void SamplePipeline::State::draw_steps(const DrawKey& key) {
  steps.clear();
  drawer.draw(key, applied.source_width, applied.source_height, steps);
  start = transform_detail::fuse_start(steps, applied.source_width, applied.source_height);
}

/// Decodes and resizes: the pixels after the first steps.
void SamplePipeline::State::make_start(std::uint8_t* rgb) {
  const std::size_t stride = std::size_t{start.width()} * 3;
  const PixelView decoded = decoder.read(start.needed);
  if (start.resize) return resizer.run(*start.resize, decoded, rgb, stride);
  for (std::uint32_t y = 0; y < decoded.height; ++y) std::memcpy(rgb + y * stride, decoded.rgb + y * decoded.stride, stride);
}

/// Directly in `out` if there is nothing to do after the first steps.
void SamplePipeline::State::run_steps(MutableBytes out) {
  std::span<const Step> rest = std::span<const Step>(steps).subspan(start.num_steps);
  applied.bytes = transform.image_bytes();
  if (rest.empty() && transform.dtype == DType::uint8 && transform.layout == PixelLayout::nhwc) {
    return make_start(as_pixels(out));
  }
  picture.width = start.width();
  picture.height = start.height();
  picture.channels = 3;
  if (picture.pixels.size() < picture.size()) picture.pixels.resize(picture.size());
  make_start(picture.pixels.data());

  std::size_t num_before = rest.size();  // conversion
  while (num_before > 0 && is_after_conversion(rest[num_before - 1])) --num_before;
  runner.run(rest.first(num_before), picture);
  converter.run({picture.pixels.data(), picture.stride(), picture.width, picture.height}, transform.width,
                transform.height, out.data());
  for (const Step& step : rest.subspan(num_before)) {
    transform_detail::erase_converted(std::get<step::Erase>(step), transform, out);
  }
}

/// Padded and ragged: the image, unscaled.
void SamplePipeline::State::place(MutableBytes out) {
  const bool padded = transform.kind == Transform::Kind::padded;
  const Region& whole = start.needed;
  const std::uint32_t width = padded ? transform.width : whole.width;
  const std::uint32_t height = padded ? transform.height : whole.height;
  applied.bytes = std::uint64_t{width} * height * 3 * dtype_bytes(transform.dtype);
  if (out.empty()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("image of {}x{} pixels whose size the index does not state", width, height));
  }
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

AppliedTransform SamplePipeline::run(Bytes image, const DrawKey& key, MutableBytes out, const KeptSeekPoints& kept) {
  begin(image, key, kept);
  return finish(out);
}

void SamplePipeline::begin(Bytes image, const DrawKey& key, const KeptSeekPoints& kept, WholeCheck check) {
  State& state = *state_;
  const Transform& transform = state.transform;
  state.image = image;
  state.applied = {};
  state.start = {};
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
  if (state.runs_steps()) {
    state.draw_steps(key);
  } else {
    state.start.needed = crop;
  }
}

void SamplePipeline::decode_ahead(SamplePipeline& first, SamplePipeline& second) {
  ImageDecoder::decode_ahead({&first.state_->decoder, first.state_->start.needed},
                             {&second.state_->decoder, second.state_->start.needed});
}

AppliedTransform SamplePipeline::finish(MutableBytes out) {
  State& state = *state_;
  const Transform& transform = state.transform;
  if (transform.has_fixed_shape()) state.require_room(out, transform.image_bytes());
  if (transform.kind == Transform::Kind::raw) {
    state.copy_raw(out);
  } else if (state.runs_steps()) {
    state.run_steps(out);
  } else {
    state.place(out);
  }
  return state.applied;
}

}  // namespace bale
