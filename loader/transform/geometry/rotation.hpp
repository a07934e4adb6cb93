// What Pillow's Image.rotate does for an angle: a quarter turn, or a warp with a matrix and an output size.
#pragma once

#include <array>
#include <cstdint>

#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

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
