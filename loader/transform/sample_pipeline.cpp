#include "bale/loader/transform/sample_pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/loader/transform/pixels/convert.hpp"
#include "bale/loader/transform/view.hpp"

namespace bale {
namespace {

bool is_made_of_steps(const Transform& transform) {
  using Kind = Transform::Kind;
  return transform.kind == Kind::train || transform.kind == Kind::val || transform.kind == Kind::list;
}

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
      : transform(options), max_pixels(pixel_limit), converter(options) {
    if (is_made_of_steps(options)) views.emplace_back(options);
    for (const Transform& view : further) views.emplace_back(view);
  }

  void draw(const DrawKey& key, std::span<const Box> boxes);
  void copy_raw(MutableBytes out);
  void make_views(MutableBytes out, std::span<const MutableBytes> further);
  void place(MutableBytes out);
  void require_room(MutableBytes out, std::uint64_t bytes) const;

  Transform transform;
  std::uint64_t max_pixels;
  transform_detail::PixelConverter converter;   // for padded and ragged
  std::vector<transform_detail::View> views{};  // none for padded, ragged and raw
  ImageDecoder decoder{};
  transform_detail::ViewScratch scratch{};

  // Of the image that was passed to begin().
  Bytes image{};
  AppliedTransform applied{};
  Region needed{};  // pixels to decode
  Steps padding{};  // of padded
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

void SamplePipeline::State::draw(const DrawKey& key, std::span<const Box> boxes) {
  DrawKey view_key = key;
  for (std::size_t i = 0; i < views.size(); ++i) {
    view_key.view = key.view + i;
    views[i].draw(view_key, applied.source_width, applied.source_height, boxes);
    needed = i == 0 ? views[i].needed() : union_of(needed, views[i].needed());
  }
  if (!views.empty()) applied.draw.iou_crop = transform_detail::iou_crop_of(views.front().steps());
}

void SamplePipeline::State::make_views(MutableBytes out, std::span<const MutableBytes> further) {
  if (further.size() + 1 != views.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} places for {} further views", further.size(), views.size() - 1));
  }
  const PixelView decoded = decoder.read(needed);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Region& part = views[i].needed();
    views[i].make(part_of(decoded, needed, part), scratch, i == 0 ? out : further[i - 1]);
  }
  applied.bytes = transform.image_bytes();
}

/// Padded and ragged: the image, unscaled.
void SamplePipeline::State::place(MutableBytes out) {
  const bool padded = transform.kind == Transform::Kind::padded;
  const std::uint32_t width = padded ? transform.width : needed.width;
  const std::uint32_t height = padded ? transform.height : needed.height;
  applied.bytes = std::uint64_t{width} * height * transform.channels() * dtype_bytes(transform.dtype);
  if (out.empty()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("image of {}x{} pixels whose size the index does not state", width, height));
  }
  require_room(out, applied.bytes);
  const PixelView pixels = decoder.read(needed);
  if (width != needed.width || height != needed.height) std::memset(out.data(), 0, applied.bytes);
  converter.run(pixels, width, height, out.data());
}

SamplePipeline::SamplePipeline(const Transform& transform, std::uint64_t max_pixels,
                               std::span<const Transform> further_views) {
  check_transform(transform);
  for (const Transform& view : further_views) {
    check_transform(view);
    if (is_made_of_steps(transform) && is_made_of_steps(view) && transform.mode == view.mode) continue;
    throw Error(ErrorCode::invalid_argument,
                "views: each must be one of train, val and a list of transforms, all of the same mode");
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
  state.padding.clear();
  if (transform.kind == Transform::Kind::raw) return;
  const ImageHeader header = state.decoder.open(image, state.max_pixels, check, transform.mode);
  state.decoder.use_seek_points(kept);
  state.applied.source_width = header.width;
  state.applied.source_height = header.height;
  state.applied.draw = draw_augment(transform, key, header.width, header.height);
  state.needed = state.applied.draw.crop;
  state.draw(key, boxes);
  const bool is_too_large = header.width > transform.width || header.height > transform.height;
  if (transform.kind == Transform::Kind::padded && is_too_large) {
    throw Error(ErrorCode::unsupported,
                fmt::format("image of {}x{} pixels is larger than the {}x{} that it is padded to", header.width,
                            header.height, transform.width, transform.height));
  }
  if (transform.kind == Transform::Kind::padded) {
    state.padding = transform_detail::image_steps(transform, key, header.width, header.height);
  }
}

AppliedTransform SamplePipeline::begun() const { return state_->applied; }

std::span<const Step> SamplePipeline::steps(std::size_t view) const {
  return state_->views.empty() ? state_->padding : state_->views[view].steps();
}

std::optional<EncodedImage> SamplePipeline::left_to_device() const {
  const State& state = *state_;
  const Transform& transform = state.transform;
  const bool is_8_bit_rgb = transform.dtype == DType::uint8 && transform.layout == PixelLayout::nhwc &&
                            transform.mode == PixelMode::rgb && !transform.one_channel;
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
  const Transform& transform = state.transform;
  if (transform.has_fixed_shape()) state.require_room(out, transform.image_bytes());
  if (transform.kind == Transform::Kind::raw) {
    state.copy_raw(out);
  } else if (!state.views.empty()) {
    state.make_views(out, further);
  } else {
    state.place(out);
  }
  return state.applied;
}

}  // namespace bale
