#include "bale/loader/transform/view.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include "bale/loader/transform/draw/list_drawer.hpp"
#include "bale/loader/transform/pixels/convert.hpp"

namespace bale::transform_detail {
namespace {

/// The part of `whole` that a crop takes; nullopt if it reaches over an edge.
std::optional<Region> inside(const Region& whole, const step::Crop& crop) {
  if (crop.left < 0 || crop.top < 0) return std::nullopt;
  const auto left = static_cast<std::uint32_t>(crop.left);
  const auto top = static_cast<std::uint32_t>(crop.top);
  if (left > whole.width || top > whole.height) return std::nullopt;
  if (crop.width > whole.width - left || crop.height > whole.height - top) return std::nullopt;
  return Region{.x = whole.x + left, .y = whole.y + top, .width = crop.width, .height = crop.height};
}

/// Applies the crops at the start of `steps` to `region`. Returns their number.
std::size_t take_crops(std::span<const Step> steps, Region& region) {
  std::size_t taken = 0;
  for (; taken < steps.size(); ++taken) {
    const auto* const crop = std::get_if<step::Crop>(&steps[taken]);
    const auto part = crop == nullptr ? std::nullopt : inside(region, *crop);
    if (!part) break;
    region = *part;
  }
  return taken;
}

bool is_fast(Filter filter) { return filter == Filter::bilinear || filter == Filter::bicubic; }

bool is_of_boxes(const Step& step) {
  return std::holds_alternative<step::ZeroBoundingBoxes>(step) ||
         std::holds_alternative<step::ClampBoundingBoxes>(step) ||
         std::holds_alternative<step::SanitizeBoundingBoxes>(step);
}

bool is_after_conversion(const Step& step) {
  const auto* const erase = std::get_if<step::Erase>(&step);
  return erase != nullptr && erase->converted;
}

/// The number of steps that change 8-bit pixels.
std::size_t num_before_conversion(std::span<const Step> steps) {
  std::size_t num_before = steps.size();
  while (num_before > 0 && is_after_conversion(steps[num_before - 1])) --num_before;
  return num_before;
}

void widen_gray(const std::uint8_t* gray, std::size_t num_pixels, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < num_pixels; ++i) rgb[i * 3] = rgb[i * 3 + 1] = rgb[i * 3 + 2] = gray[i];
}

/// Pillow copies an image that keeps its size.
bool changes_size(const ResizeSpec& spec) {
  return spec.width != spec.source_width || spec.height != spec.source_height;
}

}  // namespace

FusedStart fuse_start(std::span<const Step> steps, std::uint32_t width, std::uint32_t height) {
  FusedStart start{.needed = {.width = width, .height = height}};
  start.num_steps = take_crops(steps, start.needed);
  const auto rest = [&] { return steps.subspan(start.num_steps); };
  const auto* const resize = rest().empty() ? nullptr : std::get_if<step::Resize>(&rest().front());
  if (resize == nullptr || !is_fast(resize->filter)) return start;

  ResizeSpec spec = resize_whole(start.needed.width, start.needed.height, resize->width, resize->height);
  spec.filter = resize->filter;
  spec.pass_order = resize->pass_order;
  ++start.num_steps;
  start.num_steps += take_crops(rest(), spec.window);
  if (!rest().empty() && std::holds_alternative<step::HorizontalFlip>(rest().front())) {
    spec.mirror = true;
    ++start.num_steps;
  }
  Region needed = resize_needs(spec);
  needed.x += start.needed.x;
  needed.y += start.needed.y;
  start.needed = needed;
  start.resize = spec;
  return start;
}

void View::draw(const DrawKey& key, std::uint32_t width, std::uint32_t height, std::span<const Box> boxes) {
  steps_.clear();
  draw_list(*transform_.list, transform_.pass_order, key, width, height, steps_, {.boxes = boxes});
  has_box_steps_ = std::any_of(steps_.begin(), steps_.end(), is_of_boxes);
  if (has_box_steps_) {
    pixel_steps_.clear();
    std::copy_if(steps_.begin(), steps_.end(), std::back_inserter(pixel_steps_),
                 [](const Step& step) { return !is_of_boxes(step); });
  }
  start_ = fuse_start(pixel_steps(), width, height);
}

/// Resizes: the pixels after the first steps, without gaps.
void View::make_start(const PixelView& decoded, Resizer& resizer, std::uint8_t* out) const {
  const std::size_t stride = std::size_t{start_.width()} * decoded.pixel_bytes;
  if (start_.resize) return resizer.run(*start_.resize, decoded, out, stride);
  for (std::uint32_t y = 0; y < decoded.height; ++y) {
    std::memcpy(out + y * stride, decoded.rgb + y * decoded.stride, stride);
  }
}

/// make_start() of gray pixels, into memory of their own.
PixelView View::start_alone(const PixelView& decoded, ViewScratch& scratch) const {
  const std::size_t stride = start_.width();
  if (scratch.gray.size() < stride * start_.height()) scratch.gray.resize(stride * start_.height());
  make_start(decoded, scratch.resizer, scratch.gray.data());
  return {.rgb = scratch.gray.data(),
          .stride = stride,
          .width = start_.width(),
          .height = start_.height(),
          .pixel_bytes = 1};
}

std::uint64_t View::bytes() const {
  if (transform_.has_fixed_shape()) return transform_.image_bytes();
  const Region& all = start_.needed;
  return std::uint64_t{all.width} * all.height * transform_.channels() * dtype_bytes(transform_.dtype);
}

/// Converts, and does the steps `after` that. What is outside the pixels becomes zero.
void View::finish(const PixelView& pixels, std::span<const Step> after, MutableBytes out) const {
  const bool is_ragged = !transform_.has_fixed_shape();
  const std::uint32_t width = is_ragged ? pixels.width : transform_.width;
  const std::uint32_t height = is_ragged ? pixels.height : transform_.height;
  if (pixels.width != width || pixels.height != height) std::memset(out.data(), 0, bytes());
  converter_.run(pixels, width, height, out.data());
  for (const Step& step : after) erase_converted(std::get<step::Erase>(step), transform_, out);
}

void View::make_rgba(const PixelView& decoded, ViewScratch& scratch, MutableBytes out) const {
  AlphaScratch& alpha = scratch.alpha;
  const std::size_t size = std::size_t{start_.width()} * start_.height() * 4;
  if (alpha.resized.size() < size) alpha.resized.resize(size);
  if (start_.resize && changes_size(*start_.resize)) {
    make_start(premultiplied(decoded, alpha.before), scratch.resizer, alpha.resized.data());
    divide_by_alpha(alpha.resized.data(), size / 4);
  } else {
    make_start(decoded, scratch.resizer, alpha.resized.data());
  }
  const std::size_t num_before = num_before_conversion(rest());
  PixelView pixels{.rgb = alpha.resized.data(),
                   .stride = std::size_t{start_.width()} * 4,
                   .width = start_.width(),
                   .height = start_.height(),
                   .pixel_bytes = 4};
  if (num_before > 0) pixels = alpha.picture.run(rest().first(num_before), pixels, scratch.runner);
  finish(pixels, rest().subspan(num_before), out);
}

void View::make_gray_16(const PixelView& decoded, ViewScratch& scratch, MutableBytes out) const {
  PixelView start = scratch.gray_16.make_room(start_.width(), start_.height());
  make_start(decoded, scratch.resizer, scratch.gray_16.pixels());
  finish(scratch.gray_16.run(rest(), start, scratch.resizer), {}, out);
}

void View::make(const PixelView& decoded, ViewScratch& scratch, MutableBytes out) const {
  if (!start_.resize && rest().empty()) return finish(decoded, {}, out);
  if (transform_.mode == PixelMode::rgba) return make_rgba(decoded, scratch, out);
  if (transform_.mode == PixelMode::gray_16) return make_gray_16(decoded, scratch, out);
  const bool is_rgb = transform_.mode == PixelMode::rgb;
  const std::size_t num_before = num_before_conversion(rest());
  const bool are_bytes_kept = is_rgb && transform_.channels() == 3 && !transform_.pads &&
                              transform_.dtype == DType::uint8 && transform_.layout == PixelLayout::nhwc;
  if (are_bytes_kept && StepRunner::takes_in_place(rest())) {
    auto* const rgb = reinterpret_cast<std::uint8_t*>(out.data());
    make_start(decoded, scratch.resizer, rgb);
    return scratch.runner.run_in_place(rest(), rgb, std::size_t{start_.width()} * start_.height());
  }
  if (!is_rgb && num_before == 0) return finish(start_alone(decoded, scratch), rest(), out);

  Picture& picture = scratch.picture;
  picture.width = start_.width();
  picture.height = start_.height();
  picture.channels = 3;
  if (picture.pixels.size() < picture.size()) picture.pixels.resize(picture.size());
  if (is_rgb) {
    make_start(decoded, scratch.resizer, picture.pixels.data());
  } else {
    // What steps do to a gray in three channels they do to one: Pillow's and torchvision's operations are per channel,
    // or give a gray the same gray.
    const PixelView gray = start_alone(decoded, scratch);
    widen_gray(gray.rgb, std::size_t{gray.width} * gray.height, picture.pixels.data());
  }
  scratch.runner.run(rest().first(num_before), picture);
  finish({picture.pixels.data(), picture.stride(), picture.width, picture.height}, rest().subspan(num_before), out);
}

}  // namespace bale::transform_detail
