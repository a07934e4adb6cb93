// The size of an image after a step, and what steps refuse: parameters that are not numbers, and images that would be
// empty or far larger than any batch holds.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

/// The width and height that an image of width x height pixels has then. Throws `invalid_argument` for sizes out of
/// range.
std::pair<std::uint32_t, std::uint32_t> size_after(const Step& step, std::uint32_t width, std::uint32_t height);

/// Throws `invalid_argument` unless both sides are 1 to 65535 pixels and the area is at most 2^27 pixels.
void check_size(std::string_view step, double width, double height);

/// Throws `invalid_argument` for infinite numbers and NaN.
void check_finite(std::string_view step, double value);

/// Throws `invalid_argument` with the name of the step if a parameter is out of range.
void check_that(bool holds, std::string_view step, std::string_view requirement);

/// What Pillow's Image.rotate does for an angle: a quarter turn, or a warp with a matrix and an output size.
struct Rotation {
  enum class Kind : std::uint8_t { copy, rotate_90, rotate_180, rotate_270, warp };
  Kind kind = Kind::copy;
  std::uint32_t width = 0;  // of the result
  std::uint32_t height = 0;
  std::array<double, 6> matrix{};  // for `warp`
};

/// Throws `invalid_argument` if the angle or the center is not a number, or if the result would be too large.
Rotation rotation_of(const step::Rotate& rotate, std::uint32_t width, std::uint32_t height);

}  // namespace bale::transform_detail
