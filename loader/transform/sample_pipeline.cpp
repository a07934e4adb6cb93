#include "bale/loader/transform/sample_pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/pixels/convert.hpp"
#include "bale/loader/transform/view.hpp"

namespace bale {
namespace {

/// The smallest region that contains both.
Region union_of(const Region& a, const Region& b) {
  Region both{.x = std::min(a.x, b.x), .y = std::min(a.y, b.y)};
  both.width = std::max(a.x + a.width, b.x + b.width) - both.x;
  both.height = std::max(a.y + a.height, b.y + b.height) - both.y;
  return both;
}

/// `part` of the image, of which `pixels` are the pixels of `whole`.
PixelView part_of(const PixelView& pixels, const Region& whole, const Region& part) {
  return {.rgb = pixels.rgb + (part.y - whole.y) * pixels.stride + std::size_t{part.x - whole.x} * pixels.pixel_bytes,
          .stride = pixels.stride,
          .width = part.width,
          .height = part.height,
          .pixel_bytes = pixels.pixel_bytes};
}

}  // namespace

struct SamplePipeline::State {
  State(const Transform& options, std::uint64_t pixel_limit, std::span<const Transform> further)
      : transform(options), max_pixels(pixel_limit) {
    if (options.shape != Transform::Shape::raw) views.emplace_back(options);
    for (const Transform& view : further) views.emplace_back(view);
  }

  void draw(const DrawKey& key, std::span<const Box> boxes);
  void copy_raw(MutableBytes out);
  void make_views(MutableBytes out, std::span<const MutableBytes> further);
  void require_room(MutableBytes out) const;

  Transform transform;
  std::uint64_t max_pixels;
  std::vector<transform_detail::View> views{};  // none for raw
  ImageDecoder decoder{};
  transform_detail::ViewScratch scratch{};

  // Of the image that was passed to begin().
  Bytes image{};
  AppliedTransform applied{};
  Region needed{};  // pixels to decode
};

/// For a fixed shape, too little room is the caller's error. A ragged or raw image that is too large is a bad sample.
void SamplePipeline::State::require_room(MutableBytes out) const {
  if (applied.bytes <= out.size()) return;
  if (transform.shape == Transform::Shape::ragged && out.empty()) {
    throw Error(ErrorCode::unsupported, fmt::format("image of {}x{} pixels whose size the index does not state",
                                                    applied.source_width, applied.source_height));
  }
  throw Error(transform.has_fixed_shape() ? ErrorCode::invalid_argument : ErrorCode::unsupported,
              fmt::format("image needs {} bytes of its batch, which has {} for it", applied.bytes, out.size()));
}

void SamplePipeline::State::copy_raw(MutableBytes out) {
  applied.bytes = image.size();
  require_room(out);
  if (!image.empty()) std::memcpy(out.data(), image.data(), image.size());
}

void SamplePipeline::State::draw(const DrawKey& key, std::span<const Box> boxes) {
  DrawKey view_key = key;
  for (std::size_t i = 0; i < views.size(); ++i) {
    view_key.view = key.view + i;
    views[i].draw(view_key, applied.source_width, applied.source_height, boxes);
    needed = i == 0 ? views[i].needed() : union_of(needed, views[i].needed());
  }
  applied.iou_crop = transform_detail::iou_crop_of(views.front().steps());
}

void SamplePipeline::State::make_views(MutableBytes out, std::span<const MutableBytes> further) {
  if (further.size() + 1 != views.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} places for {} further views", further.size(), views.size() - 1));
  }
  applied.bytes = views.front().bytes();
  require_room(out);
  const PixelView decoded = decoder.read(needed);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Region& part = views[i].needed();
    views[i].make(part_of(decoded, needed, part), scratch, i == 0 ? out : further[i - 1]);
  }
}

SamplePipeline::SamplePipeline(const Transform& transform, std::uint64_t max_pixels,
                               std::span<const Transform> further_views) {
  check_transform(transform);
  for (const Transform& view : further_views) {
    check_transform(view);
    if (transform.has_fixed_shape() && view.has_fixed_shape() && transform.mode == view.mode) continue;
    throw Error(ErrorCode::invalid_argument, "views: each must have a fixed shape, all of the same mode");
  }
  state_ = std::make_unique<State>(transform, max_pixels, further_views);
}

SamplePipeline::~SamplePipeline() = default;
SamplePipeline::SamplePipeline(SamplePipeline&&) noexcept = default;
SamplePipeline& SamplePipeline::operator=(SamplePipeline&&) noexcept = default;

AppliedTransform SamplePipeline::run(Bytes image, const DrawKey& key, MutableBytes out, const KeptSeekPoints& kept) {
  begin(image, key, kept);
  return finish(out);
}

void SamplePipeline::begin(Bytes image, const DrawKey& key, const KeptSeekPoints& kept, WholeCheck check,
                           std::span<const Box> boxes) {
  State& state = *state_;
  const Transform& transform = state.transform;
  state.image = image;
  state.applied = {};
  state.needed = {};
  if (state.views.empty()) return;
  const ImageHeader header = state.decoder.open(image, state.max_pixels, check, transform.mode);
  state.decoder.use_seek_points(kept);
  state.applied.source_width = header.width;
  state.applied.source_height = header.height;
  state.draw(key, boxes);
}

AppliedTransform SamplePipeline::begun() const { return state_->applied; }

std::span<const Step> SamplePipeline::steps(std::size_t view) const {
  return state_->views.empty() ? std::span<const Step>() : state_->views[view].steps();
}

std::optional<EncodedImage> SamplePipeline::left_to_device() const {
  const State& state = *state_;
  const Transform& transform = state.transform;
  const bool is_8_bit_rgb = transform.dtype == DType::uint8 && transform.layout == PixelLayout::nhwc &&
                            transform.mode == PixelMode::rgb && transform.channels() == 3;
  if (state.views.size() != 1 || !is_8_bit_rgb || !state.decoder.is_plain_jpeg()) return std::nullopt;
  const ResizeSpec* const resize = state.views.front().only_resize();
  if (resize == nullptr) return std::nullopt;
  const Region part = resize_needs(*resize);  // of what is resized; state.needed is the same of the image
  return EncodedImage{
      .bytes = state.image.size(), .left = state.needed.x - part.x, .top = state.needed.y - part.y, .resize = *resize};
}

std::array<bool, 2> SamplePipeline::decode_ahead(SamplePipeline& first, SamplePipeline& second) {
  return ImageDecoder::decode_ahead({&first.state_->decoder, first.state_->needed},
                                    {&second.state_->decoder, second.state_->needed});
}

AppliedTransform SamplePipeline::finish(MutableBytes out, std::span<const MutableBytes> further) {
  State& state = *state_;
  const struct FreeLarge {
    ImageDecoder& decoder;
    ~FreeLarge() { decoder.free_large(); }
  } after{state.decoder};
  state.views.empty() ? state.copy_raw(out) : state.make_views(out, further);
  return state.applied;
}

}  // namespace bale
