// The matrix of torchvision's affine(): rotation, translation, scaling and shear about a center.
#pragma once

#include <array>

namespace bale::transform_detail {

struct AffineParameters {
  double angle = 0;                   // degrees
  std::array<double, 2> translate{};  // pixels
  double scale = 1;
  std::array<double, 2> shear{};  // degrees, x and y
};

/// The inverse matrix for step::Affine: torchvision's _get_inverse_affine_matrix(center, ...). The same bits on every
/// machine: sines come from portable_math.
std::array<double, 6> inverse_affine_matrix(const std::array<double, 2>& center, const AffineParameters& parameters);

}  // namespace bale::transform_detail
