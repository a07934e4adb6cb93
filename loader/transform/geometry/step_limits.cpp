#include "bale/loader/transform/geometry/step_limits.hpp"

#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::transform_detail {
namespace {

constexpr double k_max_side = 65535;
constexpr double k_max_pixels = 1 << 27;

}  // namespace

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
