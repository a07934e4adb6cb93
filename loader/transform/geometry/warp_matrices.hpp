// The matrix of torchvision's affine() (rotation, translation, scaling and shear about a center), and the coefficients
// of a perspective transform that moves four corners.
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

/// (x, y) of top left, top right, bottom right, bottom left.
using Corners = std::array<std::array<double, 2>, 4>;

/// The coefficients for step::Perspective: what lies at from[i] comes to to[i]. Rounded to float32, as torchvision's
/// _get_perspective_coeffs; it solves by least squares, so that single coefficients may differ in the last bit. Corners
/// on one line, which have no solution, give the identity.
std::array<double, 8> perspective_coefficients(const Corners& from, const Corners& to);

}  // namespace bale::transform_detail
