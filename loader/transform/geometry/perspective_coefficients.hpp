// The coefficients of a perspective transform that moves four corners.
#pragma once

#include <array>

namespace bale::transform_detail {

/// (x, y) of top left, top right, bottom right, bottom left.
using Corners = std::array<std::array<double, 2>, 4>;

/// The coefficients for step::Perspective: what lies at from[i] comes to to[i]. Rounded to float32, as torchvision's
/// _get_perspective_coeffs; it solves by least squares, so that single coefficients may differ in the last bit. Corners
/// on one line, which have no solution, give the identity.
std::array<double, 8> perspective_coefficients(const Corners& from, const Corners& to);

}  // namespace bale::transform_detail
