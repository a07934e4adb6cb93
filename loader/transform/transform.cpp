#include "bale/loader/transform/transform.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/list_drawer.hpp"
#include "bale/loader/transform/json/json.hpp"
#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale {
namespace {

// The longest side of a JPEG. A batch of such images would not fit into memory.
constexpr std::uint32_t k_max_side = 65535;

[[noreturn]] void refuse(std::string_view option, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("transform: {} {}", option, what));
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

/// Numbers that a cast has made of something else.
void check_enumerators(const Transform& transform) {
  if (transform.shape > Transform::Shape::raw) refuse("shape", "is none of Transform::Shape");
  if (transform.pass_order > PassOrder::pillow_12) refuse("pass_order", "is none of PassOrder");
  if (transform.dtype > DType::uint16) refuse("dtype", "is none of DType");
  if (transform.layout > PixelLayout::nchw) refuse("layout", "is none of PixelLayout");
  if (transform.mode > PixelMode::gray_16) refuse("mode", "is none of PixelMode");
}

void check_mode(const Transform& transform) {
  const bool is_gray_16 = transform.mode == PixelMode::gray_16;
  transform_detail::check_mode(transform.list->nodes, transform.mode, transform.channels());
  if (is_gray_16 != (transform.dtype == DType::uint16)) {
    refuse("dtype", is_gray_16 ? "must be uint16 for images of mode I;16, which have no other"
                               : "uint16 is only for images of mode I;16");
  }
}

void check_sides(const Transform& transform) {
  for (const auto& [option, side] : {std::pair{"width", transform.width}, {"height", transform.height}}) {
    if (side < 1 || side > k_max_side) refuse(option, fmt::format("{} is not within [1, {}]", side, k_max_side));
  }
}

/// The size of the batch's images; none if they differ in size.
Size size_of(const TransformList& list, Transform::Shape shape) {
  if (shape != Transform::Shape::fixed) {
    const bool is_ragged = shape == Transform::Shape::ragged;
    const bool changes_pixels = !std::ranges::all_of(list, [](const TransformNode& node) {
      return std::holds_alternative<transforms::ToDtype>(node) || std::holds_alternative<transforms::Normalize>(node);
    });
    if (is_ragged && changes_pixels) refuse("list", "of ragged images has other transforms than ToDtype and Normalize");
    if (!is_ragged && !list.empty()) refuse("list", "of raw images is not empty, and they are not decoded");
    return {};
  }
  const auto size = transform_detail::output_size(list);
  if (!size) {
    refuse("list",
           "leaves images of different sizes: end it with CenterCrop, RandomCrop, RandomResizedCrop or a Resize "
           "to (height, width)");
  }
  return *size;
}

/// What the end of the list says about the values.
void take_values(const TransformList& list, Transform& transform) {
  for (const TransformNode& node : list) {
    if (const auto* type = std::get_if<transforms::ToDtype>(&node)) transform.dtype = type->dtype;
    const auto* const normalize = std::get_if<transforms::Normalize>(&node);
    if (normalize == nullptr) continue;
    transform.normalize = true;
    if (normalize->mean.size() != transform.channels()) {
      refuse("list", fmt::format("Normalize has {} means, and the images have {} channels", normalize->mean.size(),
                                 transform.channels()));
    }
    std::ranges::copy(normalize->mean, transform.mean.begin());
    std::ranges::copy(normalize->std, transform.stddev.begin());
  }
}

Transform transform_of(CheckedList list, PixelLayout layout, PassOrder pass_order, PixelMode mode,
                       Transform::Shape shape) {
  transform_detail::check_list(list.nodes);
  const Size size = size_of(list.nodes, shape);
  Transform transform{.shape = shape,
                      .width = size.width,
                      .height = size.height,
                      .pads = transform_detail::pads(list.nodes),
                      .ends_in_gray = transform_detail::ends_in_one_channel(list.nodes),
                      .pass_order = pass_order,
                      .dtype = mode == PixelMode::gray_16 ? DType::uint16 : DType::uint8,
                      .layout = layout,
                      .mode = mode};
  take_values(list.nodes, transform);
  list.numbers = transform_detail::numbers_of(list.nodes);
  transform.list = std::make_shared<const CheckedList>(std::move(list));
  check_transform(transform);
  return transform;
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

std::size_t Transform::image_bytes() const {
  return has_fixed_shape() ? std::size_t{width} * height * channels() * dtype_bytes(dtype) : 0;
}

transforms::ColorJitter transforms::ColorJitter::symmetric(double brightness, double contrast, double saturation,
                                                           double hue) {
  return {around_one(brightness), around_one(contrast), around_one(saturation), {0.0 - hue, hue}};
}

Transform list_transform(TransformList list, PixelLayout layout, PassOrder pass_order, PixelMode mode,
                         Transform::Shape shape) {
  std::string json = transforms_json(list);
  return transform_of({std::move(list), std::move(json), {}}, layout, pass_order, mode, shape);
}

Transform json_transform(std::string_view list, PixelLayout layout, PassOrder pass_order, PixelMode mode,
                         Transform::Shape shape) {
  return transform_of({parse_transforms(list), std::string(list), {}}, layout, pass_order, mode, shape);
}

Transform train_transform(std::uint32_t size) {
  return list_transform({transforms::RandomResizedCrop{.size = {size, size}}, transforms::RandomHorizontalFlip{}});
}

Transform val_transform(std::uint32_t size, std::uint32_t resize_short) {
  // In proportion to 256 for 224, rounded to nearest.
  if (resize_short == 0) resize_short = static_cast<std::uint32_t>((std::uint64_t{size} * 256 + 112) / 224);
  if (resize_short < size) {
    refuse("resize_short", fmt::format("{} is less than the crop's side of {}", resize_short, size));
  }
  return list_transform({transforms::Resize{.height = resize_short}, transforms::CenterCrop{.size = {size, size}}});
}

Transform padded_transform(std::uint32_t height, std::uint32_t width) {
  return list_transform({transforms::PadTo{.size = {height, width}}});
}

Transform ragged_transform() {
  return list_transform({}, PixelLayout::nhwc, PassOrder::pillow_13, PixelMode::rgb, Transform::Shape::ragged);
}

Transform raw_transform() {
  return list_transform({}, PixelLayout::nhwc, PassOrder::pillow_13, PixelMode::rgb, Transform::Shape::raw);
}

void check_transform(const Transform& transform) {
  if (!transform.list) refuse("list", "is missing: make the transform with list_transform()");
  check_enumerators(transform);
  if (transform.shape == Transform::Shape::raw) {
    if (transform.mode != PixelMode::rgb) refuse("mode", "is of decoded images, and raw ones are not");
    return;
  }
  check_values(transform);
  check_mode(transform);
  if (!transform.has_fixed_shape()) return;
  check_sides(transform);
  const auto size = transform_detail::output_size(transform.list->nodes);
  if (!size || size->width != transform.width || size->height != transform.height) {
    refuse("width", "and height are not those of the list: make a transform of another size with list_transform()");
  }
}

Steps draw_steps(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes) {
  check_transform(transform);
  Steps steps;
  transform_detail::draw_list(*transform.list, transform.pass_order, key, width, height, steps, {.boxes = boxes});
  return steps;
}

Steps draw_steps(const TransformList& list, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes) {
  transform_detail::check_list(list);
  Steps steps;
  transform_detail::draw_list({list, {}, transform_detail::numbers_of(list)}, PassOrder::pillow_13, key, width, height,
                              steps, {.boxes = boxes});
  return steps;
}

}  // namespace bale
