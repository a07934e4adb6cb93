#include "bale/loader/transform/steps/mode_runners.hpp"

#include <algorithm>
#include <cstring>

#include "bale/loader/transform/geometry/size_after.hpp"

namespace bale::transform_detail {
namespace {

/// Pillow's MULDIV255: a * b / 255, rounded.
std::uint8_t times(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t product = a * b + 128;
  return static_cast<std::uint8_t>(((product >> 8) + product) >> 8);
}

std::uint8_t divided(std::uint32_t color, std::uint32_t alpha) {
  return static_cast<std::uint8_t>(std::min(255 * color / alpha, 255u));
}

template <typename... Some>
bool is_one_of(const Step& step) {
  return (std::holds_alternative<Some>(step) || ...);
}

bool changes_colors(const Step& step) {
  return is_one_of<step::Brightness, step::Contrast, step::Saturation, step::Sharpness, step::Hue>(step);
}

bool moves_pixels(const Step& step) {
  return is_one_of<step::Crop, step::Pad, step::Resize, step::HorizontalFlip, step::VerticalFlip, step::Rotate,
                   step::Affine, step::Perspective, step::GaussianBlur, step::PillowGaussianBlur, step::Erase>(step);
}

/// Whether Pillow multiplies by alpha first: it does for resizing and warps, unless they take the nearest pixel.
bool mixes_pixels(const Step& step, const Picture& picture) {
  if (const auto* resize = std::get_if<step::Resize>(&step)) {
    return resize->filter != Filter::nearest && (resize->width != picture.width || resize->height != picture.height);
  }
  if (const auto* rotate = std::get_if<step::Rotate>(&step)) {
    return rotate->sampling != Sampling::nearest &&
           rotation_of(*rotate, picture.width, picture.height).kind == Rotation::Kind::warp;
  }
  if (const auto* affine = std::get_if<step::Affine>(&step)) return affine->sampling != Sampling::nearest;
  const auto* perspective = std::get_if<step::Perspective>(&step);
  return perspective != nullptr && perspective->sampling != Sampling::nearest;
}

void set_size(Picture& picture, std::uint32_t width, std::uint32_t height) {
  picture.width = width;
  picture.height = height;
  picture.channels = 3;
  if (picture.pixels.size() < picture.size()) picture.pixels.resize(picture.size());
}

}  // namespace

PixelView premultiplied(const PixelView& rgba, std::vector<std::uint8_t>& memory) {
  const std::size_t stride = std::size_t{rgba.width} * 4;
  if (memory.size() < stride * rgba.height) memory.resize(stride * rgba.height);
  for (std::uint32_t y = 0; y < rgba.height; ++y) {
    const std::uint8_t* from = rgba.rgb + y * rgba.stride;
    std::uint8_t* to = memory.data() + y * stride;
    for (std::uint32_t x = 0; x < rgba.width; ++x, from += 4, to += 4) {
      for (std::size_t channel = 0; channel < 3; ++channel) to[channel] = times(from[channel], from[3]);
      to[3] = from[3];
    }
  }
  return {.rgb = memory.data(), .stride = stride, .width = rgba.width, .height = rgba.height, .pixel_bytes = 4};
}

void divide_by_alpha(std::uint8_t* rgba, std::size_t num_pixels) {
  for (std::size_t i = 0; i < num_pixels; ++i, rgba += 4) {
    if (rgba[3] == 0 || rgba[3] == 255) continue;
    for (std::size_t channel = 0; channel < 3; ++channel) rgba[channel] = divided(rgba[channel], rgba[3]);
  }
}

void AlphaPicture::split(const PixelView& rgba) {
  set_size(colors_, rgba.width, rgba.height);
  set_size(alpha_, rgba.width, rgba.height);
  std::uint8_t* color = colors_.pixels.data();
  std::uint8_t* alpha = alpha_.pixels.data();
  for (std::uint32_t y = 0; y < rgba.height; ++y) {
    const std::uint8_t* from = rgba.rgb + y * rgba.stride;
    for (std::uint32_t x = 0; x < rgba.width; ++x, from += 4, color += 3, alpha += 3) {
      std::memcpy(color, from, 3);
      std::memset(alpha, from[3], 3);
    }
  }
}

PixelView AlphaPicture::join() {
  const std::size_t num_pixels = std::size_t{colors_.width} * colors_.height;
  if (rgba_.size() < num_pixels * 4) rgba_.resize(num_pixels * 4);
  for (std::size_t i = 0; i < num_pixels; ++i) {
    std::memcpy(rgba_.data() + i * 4, colors_.pixels.data() + i * 3, 3);
    rgba_[i * 4 + 3] = alpha_.pixels[i * 3];
  }
  return {.rgb = rgba_.data(),
          .stride = std::size_t{colors_.width} * 4,
          .width = colors_.width,
          .height = colors_.height,
          .pixel_bytes = 4};
}

void AlphaPicture::multiply() {
  for (std::size_t i = 0; i < colors_.size(); ++i) colors_.pixels[i] = times(colors_.pixels[i], alpha_.pixels[i]);
}

void AlphaPicture::divide() {
  for (std::size_t i = 0; i < colors_.size(); ++i) {
    const std::uint8_t alpha = alpha_.pixels[i];
    if (alpha != 0) colors_.pixels[i] = divided(colors_.pixels[i], alpha);
  }
}

void AlphaPicture::run_one(const Step& step, StepRunner& runner) {
  const std::span<const Step> one(&step, 1);
  if (changes_colors(step)) {
    runner.run(one, colors_);
    if (is_one_of<step::Hue>(step)) std::fill_n(alpha_.pixels.begin(), alpha_.size(), std::uint8_t{255});
    return;
  }
  check_that(moves_pixels(step), "steps", "torchvision does not do this to PIL images of mode RGBA");
  const bool mixes = mixes_pixels(step, colors_);
  if (mixes) multiply();
  runner.run(one, colors_);
  runner.run(one, alpha_);
  if (mixes) divide();
}

PixelView AlphaPicture::run(std::span<const Step> steps, const PixelView& rgba, StepRunner& runner) {
  split(rgba);
  for (const Step& step : steps) run_one(step, runner);
  return join();
}

namespace {

PixelView view_of(const std::vector<std::uint16_t>& values, std::uint32_t width, std::uint32_t height) {
  return {.rgb = reinterpret_cast<const std::uint8_t*>(values.data()),
          .stride = std::size_t{width} * 2,
          .width = width,
          .height = height,
          .pixel_bytes = 2};
}

}  // namespace

PixelView Gray16Runner::make_room(std::uint32_t width, std::uint32_t height) {
  const std::size_t size = std::size_t{width} * height;
  if (values_.size() < size) values_.resize(size);
  return view_of(values_, width, height);
}

/// What is outside of the image is 0.
void Gray16Runner::crop(const step::Crop& crop, PixelView& image) {
  other_.assign(std::size_t{crop.width} * crop.height, 0);
  const auto left = std::int64_t{crop.left};
  const std::int64_t first = std::clamp<std::int64_t>(-left, 0, crop.width);
  const std::int64_t end = std::clamp<std::int64_t>(std::int64_t{image.width} - left, first, crop.width);
  for (std::uint32_t y = 0; y < crop.height; ++y) {
    const std::int64_t row = std::int64_t{crop.top} + y;
    if (row < 0 || row >= image.height) continue;
    const std::uint16_t* const from = values_.data() + row * image.width + left;
    std::copy(from + first, from + end, other_.data() + std::size_t{y} * crop.width + first);
  }
  std::swap(values_, other_);
  image = view_of(values_, crop.width, crop.height);
}

/// Of these images Pillow takes the pixels at products, not at sums of a step as of others.
void Gray16Runner::resize_nearest(const step::Resize& resize, PixelView& image) {
  other_.resize(std::max(other_.size(), std::size_t{resize.width} * resize.height));
  const auto position = [](std::uint32_t i, std::uint32_t input, std::uint32_t output) {
    const double at = static_cast<double>(input) / output * (i + 0.5);
    return std::min(static_cast<std::uint32_t>(at), input - 1);
  };
  std::uint16_t* out = other_.data();
  for (std::uint32_t y = 0; y < resize.height; ++y) {
    const std::uint16_t* const row =
        values_.data() + std::size_t{position(y, image.height, resize.height)} * image.width;
    for (std::uint32_t x = 0; x < resize.width; ++x) *out++ = row[position(x, image.width, resize.width)];
  }
  std::swap(values_, other_);
  image = view_of(values_, resize.width, resize.height);
}

void Gray16Runner::resize(const step::Resize& resize, PixelView& image, Resizer& resizer) {
  if (resize.filter == Filter::nearest) return resize_nearest(resize, image);
  ResizeSpec spec = resize_whole(image.width, image.height, resize.width, resize.height);
  spec.filter = resize.filter;
  spec.pass_order = resize.pass_order;
  const std::size_t size = std::size_t{resize.width} * resize.height;
  if (other_.size() < size) other_.resize(size);
  const Region needs = resize_needs(spec);
  const PixelView source{.rgb = image.rgb + needs.y * image.stride + std::size_t{needs.x} * 2,
                         .stride = image.stride,
                         .width = needs.width,
                         .height = needs.height,
                         .pixel_bytes = 2};
  resizer.run(spec, source, reinterpret_cast<std::uint8_t*>(other_.data()), std::size_t{resize.width} * 2);
  std::swap(values_, other_);
  image = view_of(values_, resize.width, resize.height);
}

void Gray16Runner::run_one(const Step& step, PixelView& image, Resizer& resizer) {
  if (const auto* cropped = std::get_if<step::Crop>(&step)) {
    check_size("Crop", cropped->width, cropped->height);
    crop(*cropped, image);
  } else if (const auto* resized = std::get_if<step::Resize>(&step)) {
    check_size("Resize", resized->width, resized->height);
    resize(*resized, image, resizer);
  } else if (const auto* pad = std::get_if<step::Pad>(&step)) {  // CenterCrop's, of smaller images
    check_that(pad->mode == PadMode::constant && pad->fill == Color{}, "Pad",
               "images of mode I;16 get black borders only");
    check_size("Pad", static_cast<double>(image.width) + pad->left + pad->right,
               static_cast<double>(image.height) + pad->top + pad->bottom);
    crop({.left = -static_cast<std::int32_t>(pad->left),
          .top = -static_cast<std::int32_t>(pad->top),
          .width = image.width + pad->left + pad->right,
          .height = image.height + pad->top + pad->bottom},
         image);
  } else if (std::holds_alternative<step::HorizontalFlip>(step)) {
    for (std::uint32_t y = 0; y < image.height; ++y) {
      std::uint16_t* const row = values_.data() + std::size_t{y} * image.width;
      std::reverse(row, row + image.width);
    }
  } else {
    check_that(std::holds_alternative<step::VerticalFlip>(step), "steps",
               "images of mode I;16 can be cropped, flipped and resized only");
    for (std::uint32_t y = 0; y < image.height / 2; ++y) {
      std::uint16_t* const upper = values_.data() + std::size_t{y} * image.width;
      std::swap_ranges(upper, upper + image.width, values_.data() + std::size_t{image.height - 1 - y} * image.width);
    }
  }
}

PixelView Gray16Runner::run(std::span<const Step> steps, PixelView image, Resizer& resizer) {
  for (const Step& step : steps) run_one(step, image, resizer);
  return image;
}

}  // namespace bale::transform_detail
