#include "bale/loader/transform/steps/alpha_runner.hpp"

#include <algorithm>
#include <cstring>

#include "bale/loader/transform/geometry/rotation.hpp"
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

}  // namespace bale::transform_detail
