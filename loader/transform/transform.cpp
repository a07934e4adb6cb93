#include "bale/loader/transform/transform.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/list/check.hpp"

namespace bale {
namespace {

// The longest side of a JPEG. A batch of such images would not fit into memory.
constexpr std::uint32_t k_max_side = 65535;
constexpr double k_max_factor = std::numeric_limits<float>::max();

[[noreturn]] void refuse(std::string_view option, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("transform: {} {}", option, what));
}

// Conditions are written so that NaN fails them.

void check_range(std::string_view option, const Range& range, double least, double most) {
  if (!(least <= range.low && range.low <= range.high && range.high <= most)) {
    refuse(option, fmt::format("[{}, {}] is not a range within [{}, {}]", range.low, range.high, least, most));
  }
}

void check_positive_range(std::string_view option, const Range& range) {
  if (!(0 < range.low && range.low <= range.high && range.high <= k_max_factor)) {
    refuse(option, fmt::format("[{}, {}] is not a range of positive numbers", range.low, range.high));
  }
}

void check_probability(std::string_view option, double probability) {
  if (!(0 <= probability && probability <= 1)) refuse(option, fmt::format("{} is not within [0, 1]", probability));
}

void check_train(const Transform& transform) {
  check_positive_range("scale", transform.scale);
  check_positive_range("ratio", transform.ratio);
  check_probability("flip_probability", transform.flip_probability);
  check_range("jitter.brightness", transform.jitter.brightness, 0, k_max_factor);
  check_range("jitter.contrast", transform.jitter.contrast, 0, k_max_factor);
  check_range("jitter.saturation", transform.jitter.saturation, 0, k_max_factor);
  check_range("jitter.hue", transform.jitter.hue, -0.5, 0.5);
  check_probability("gray_probability", transform.gray_probability);
}

void check_val(const Transform& transform) {
  const std::uint32_t longer = std::max(transform.width, transform.height);
  if (transform.resize_short < longer || transform.resize_short > k_max_side) {
    refuse("resize_short", fmt::format("{} is not within [{}, {}], from the crop's longer side to the largest one",
                                       transform.resize_short, longer, k_max_side));
  }
}

void check_values(const Transform& transform) {
  if (!transform.normalize) return;
  if (transform.dtype == DType::uint8) refuse("normalize", "needs one of the float types");
  for (std::size_t channel = 0; channel < transform.channels(); ++channel) {
    if (!std::isfinite(transform.mean[channel])) refuse("mean", "must be finite");
    if (!std::isfinite(transform.stddev[channel]) || !(transform.stddev[channel] > 0)) {
      refuse("stddev", "must be finite and above 0");
    }
  }
}

void check_mode(const Transform& transform) {
  const bool is_gray_16 = transform.mode == PixelMode::gray_16;
  if (transform.list) transform_detail::check_mode(*transform.list, transform.mode, transform.channels());
  if (is_gray_16 != (transform.dtype == DType::uint16)) {
    refuse("dtype", is_gray_16 ? "must be uint16 for images of mode I;16, which have no other"
                               : "uint16 is only for images of mode I;16");
  }
  if (transform.kind != Transform::Kind::train) return;
  if (is_gray_16 && transform.jitter.active()) refuse("jitter", "cannot change images of mode I;16");
  if (transform.mode == PixelMode::rgba && transform.gray_probability > 0) {
    refuse("gray_probability", "must be 0 for images of mode RGBA, as with torchvision");
  }
}

Range around_one(double distance) { return {std::max(0.0, 1 - distance), 1 + distance}; }

}  // namespace

std::size_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return 1;
    case DType::float16:
    case DType::bfloat16:
    case DType::uint16:
      return 2;
    case DType::float32:
      break;
  }
  return 4;
}

ColorJitter ColorJitter::symmetric(double brightness, double contrast, double saturation, double hue) {
  return {around_one(brightness), around_one(contrast), around_one(saturation), {0.0 - hue, hue}};
}

bool ColorJitter::active() const { return *this != ColorJitter{}; }

std::size_t Transform::image_bytes() const {
  return has_fixed_shape() ? std::size_t{width} * height * channels() * dtype_bytes(dtype) : 0;
}

Transform train_transform(std::uint32_t size) { return {.width = size, .height = size}; }

Transform val_transform(std::uint32_t size, std::uint32_t resize_short) {
  // In proportion to 256 for 224, rounded to nearest.
  const auto usual = static_cast<std::uint32_t>((std::uint64_t{size} * 256 + 112) / 224);
  return {.kind = Transform::Kind::val,
          .width = size,
          .height = size,
          .resize_short = resize_short == 0 ? usual : resize_short};
}

Transform padded_transform(std::uint32_t height, std::uint32_t width) {
  return {.kind = Transform::Kind::padded, .width = width, .height = height};
}

Transform ragged_transform() { return {.kind = Transform::Kind::ragged}; }

Transform raw_transform() { return {.kind = Transform::Kind::raw}; }

Transform list_transform(TransformList list, PixelLayout layout, PassOrder pass_order, PixelMode mode) {
  transform_detail::check_list(list);
  const auto size = transform_detail::output_size(list);
  if (!size) {
    refuse("list",
           "leaves images of different sizes: end it with CenterCrop, RandomCrop, RandomResizedCrop or a Resize "
           "to (height, width)");
  }
  Transform transform{.kind = Transform::Kind::list,
                      .width = size->width,
                      .height = size->height,
                      .pass_order = pass_order,
                      .dtype = mode == PixelMode::gray_16 ? DType::uint16 : DType::uint8,
                      .layout = layout,
                      .mode = mode,
                      .one_channel = mode == PixelMode::rgb && transform_detail::ends_in_one_channel(list)};
  for (const TransformNode& node : list) {
    if (const auto* type = std::get_if<transforms::ToDtype>(&node)) transform.dtype = type->dtype;
    if (const auto* normalize = std::get_if<transforms::Normalize>(&node)) {
      transform.normalize = true;
      if (normalize->mean.size() != transform.channels()) {
        refuse("list", fmt::format("Normalize has {} means, and the images have {} channels", normalize->mean.size(),
                                   transform.channels()));
      }
      std::copy(normalize->mean.begin(), normalize->mean.end(), transform.mean.begin());
      std::copy(normalize->std.begin(), normalize->std.end(), transform.stddev.begin());
    }
  }
  transform.list = std::make_shared<const TransformList>(std::move(list));
  check_transform(transform);
  return transform;
}

void check_transform(const Transform& transform) {
  if (transform.kind == Transform::Kind::raw) {
    if (transform.mode != PixelMode::rgb) refuse("mode", "is of decoded images, and raw ones are not");
    return;
  }
  check_values(transform);
  check_mode(transform);
  if (transform.has_fixed_shape()) {
    for (const auto& [option, side] : {std::pair{"width", transform.width}, {"height", transform.height}}) {
      if (side < 1 || side > k_max_side) refuse(option, fmt::format("{} is not within [1, {}]", side, k_max_side));
    }
  }
  if (transform.kind == Transform::Kind::train) check_train(transform);
  if (transform.kind == Transform::Kind::val) check_val(transform);
  if (transform.kind == Transform::Kind::list) {
    if (!transform.list) refuse("list", "is missing: make the transform with list_transform()");
    transform_detail::check_list(*transform.list);
  }
}

}  // namespace bale
