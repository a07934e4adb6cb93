#include "bale/loader/transform/geometry/size_after.hpp"

#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/geometry/rotation.hpp"

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

}  // namespace bale::transform_detail
