#include "bale/loader/transform/steps/gray_16_runner.hpp"

#include <algorithm>

#include "bale/loader/transform/geometry/size_after.hpp"

namespace bale::transform_detail {
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
