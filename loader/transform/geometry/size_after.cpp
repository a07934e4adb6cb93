#include "bale/loader/transform/geometry/size_after.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

struct SizeAfter {
  using Size = std::pair<std::uint32_t, std::uint32_t>;
  std::uint32_t width;
  std::uint32_t height;

  Size operator()(const step::Crop& crop) const {
    const bool is_smaller = 0 < crop.width && crop.width <= width && 0 < crop.height && crop.height <= height;
    if (!is_smaller) check_size("Crop", crop.width, crop.height);
    return {crop.width, crop.height};
  }
  Size operator()(const step::Pad& pad) const {
    check_size("Pad", static_cast<double>(width) + pad.left + pad.right,
               static_cast<double>(height) + pad.top + pad.bottom);
    return {width + pad.left + pad.right, height + pad.top + pad.bottom};
  }
  Size operator()(const step::Resize& resize) const {
    check_size("Resize", resize.width, resize.height);
    return {resize.width, resize.height};
  }
  Size operator()(const step::Rotate& rotate) const {
    const Rotation rotation = rotation_of(rotate, width, height);
    return {rotation.width, rotation.height};
  }
  template <typename Other>
  Size operator()(const Other&) const {
    return {width, height};
  }
};

constexpr double k_max_side = 65535;
constexpr double k_max_pixels = 1 << 27;

}  // namespace

std::pair<std::uint32_t, std::uint32_t> size_after(const Step& step, std::uint32_t width, std::uint32_t height) {
  return std::visit(SizeAfter{width, height}, step);
}

void check_size(std::string_view step, double width, double height) {
  const bool fits = 1 <= width && width <= k_max_side && 1 <= height && height <= k_max_side;
  if (fits && width * height <= k_max_pixels) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: an image of {:.0f}x{:.0f} pixels is empty or too large", step, width, height));
}

void check_finite(std::string_view step, double value) {
  check_that(std::isfinite(value), step, "parameters must be finite");
}

void check_that(bool holds, std::string_view step, std::string_view requirement) {
  if (!holds) throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", step, requirement));
}

// Compiled without floating-point contraction.

namespace {

/// Python's round(x, 15) for |x| <= 1: the decimal number nearest to x, read again.
double round_to_15_digits(double x) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, 15);
  double rounded = 0;
  std::from_chars(text, written.ptr, rounded);
  return rounded;
}

/// Python's angle % 360.0.
double modulo_turn(double angle) {
  const double rest = std::fmod(angle, 360.0);
  return rest < 0 ? rest + 360.0 : std::abs(rest);
}

using Point = std::array<double, 2>;

Point transformed(double x, double y, const std::array<double, 6>& m) {
  return {m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]};
}

std::array<double, 6> matrix_about(const Point& center, double degrees) {
  const double angle = -radians(degrees);
  const double cosine = round_to_15_digits(portable_cos(angle));
  std::array<double, 6> matrix{
      cosine, round_to_15_digits(portable_sin(angle)), 0.0, round_to_15_digits(-portable_sin(angle)), cosine, 0.0};
  const Point moved = transformed(-center[0], -center[1], matrix);
  matrix[2] = moved[0] + center[0];
  matrix[5] = moved[1] + center[1];
  return matrix;
}

/// Makes the result as large as the turned image, whose corners it holds.
void expand(double width, double height, Rotation& rotation) {
  const Point corners[] = {{0, 0}, {width, 0}, {width, height}, {0, height}};
  Point low{};
  Point high{};
  for (std::size_t i = 0; i < 4; ++i) {
    const Point corner = transformed(corners[i][0], corners[i][1], rotation.matrix);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      low[axis] = i == 0 ? corner[axis] : std::min(low[axis], corner[axis]);
      high[axis] = i == 0 ? corner[axis] : std::max(high[axis], corner[axis]);
    }
  }
  const double new_width = std::ceil(high[0]) - std::floor(low[0]);
  const double new_height = std::ceil(high[1]) - std::floor(low[1]);
  check_size("Rotate", new_width, new_height);
  const Point moved = transformed(-(new_width - width) / 2.0, -(new_height - height) / 2.0, rotation.matrix);
  rotation.matrix[2] = moved[0];
  rotation.matrix[5] = moved[1];
  rotation.width = static_cast<std::uint32_t>(new_width);
  rotation.height = static_cast<std::uint32_t>(new_height);
}

}  // namespace

Rotation rotation_of(const step::Rotate& rotate, std::uint32_t width, std::uint32_t height) {
  check_finite("Rotate", rotate.angle);
  Rotation rotation{.width = width, .height = height};
  const double angle = modulo_turn(rotate.angle);
  if (!rotate.center) {
    if (angle == 0) return rotation;
    const bool quarter = (angle == 90 || angle == 270) && (rotate.expand || width == height);
    if (angle == 180) rotation.kind = Rotation::Kind::rotate_180;
    if (quarter) {
      rotation.kind = angle == 90 ? Rotation::Kind::rotate_90 : Rotation::Kind::rotate_270;
      std::swap(rotation.width, rotation.height);
    }
    if (rotation.kind != Rotation::Kind::copy) return rotation;
  } else {
    for (const double value : *rotate.center) check_finite("Rotate", value);
  }
  rotation.kind = Rotation::Kind::warp;
  rotation.matrix = matrix_about(rotate.center.value_or(Point{width / 2.0, height / 2.0}), angle);
  if (rotate.expand) expand(width, height, rotation);
  return rotation;
}

}  // namespace bale::transform_detail
