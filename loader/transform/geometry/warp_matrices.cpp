// Compiled without floating-point contraction.
#include "bale/loader/transform/geometry/warp_matrices.hpp"

#include <cmath>
#include <cstddef>

#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

constexpr std::size_t k_unknowns = 8;
using Equation = std::array<double, k_unknowns + 1>;  // the last is the right side

/// Gauss elimination with partial pivoting. Returns false if there is no unique solution.
bool solve(std::array<Equation, k_unknowns>& equations) {
  for (std::size_t column = 0; column < k_unknowns; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < k_unknowns; ++row) {
      if (std::abs(equations[row][column]) > std::abs(equations[pivot][column])) pivot = row;
    }
    if (equations[pivot][column] == 0) return false;
    std::swap(equations[column], equations[pivot]);
    for (std::size_t row = 0; row < k_unknowns; ++row) {
      if (row == column) continue;
      const double factor = equations[row][column] / equations[column][column];
      for (std::size_t i = column; i <= k_unknowns; ++i) equations[row][i] -= factor * equations[column][i];
    }
  }
  return true;
}

}  // namespace

std::array<double, 6> inverse_affine_matrix(const std::array<double, 2>& center, const AffineParameters& parameters) {
  const double rotation = radians(parameters.angle);
  const double shear_x = radians(parameters.shear[0]);
  const double shear_y = radians(parameters.shear[1]);
  const double sine = portable_sin(rotation - shear_y);
  const double cosine = portable_cos(rotation - shear_y);
  const double cosine_y = portable_cos(shear_y);
  const double tangent_x = portable_tan(shear_x);
  // Rotation and shear, without scaling.
  const double a = cosine / cosine_y;
  const double b = -cosine * tangent_x / cosine_y - portable_sin(rotation);
  const double c = sine / cosine_y;
  const double d = -sine * tangent_x / cosine_y + portable_cos(rotation);
  // Its determinant is 1, so this is its inverse.
  std::array<double, 6> matrix{d, -b, 0.0, -c, a, 0.0};
  for (double& value : matrix) value /= parameters.scale;
  const double x = -center[0] - parameters.translate[0];
  const double y = -center[1] - parameters.translate[1];
  matrix[2] += matrix[0] * x + matrix[1] * y;
  matrix[5] += matrix[3] * x + matrix[4] * y;
  matrix[2] += center[0];
  matrix[5] += center[1];
  return matrix;
}

std::array<double, 8> perspective_coefficients(const Corners& from, const Corners& to) {
  std::array<Equation, k_unknowns> equations{};
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto [x, y] = to[i];
    equations[2 * i] = {x, y, 1, 0, 0, 0, -from[i][0] * x, -from[i][0] * y, from[i][0]};
    equations[2 * i + 1] = {0, 0, 0, x, y, 1, -from[i][1] * x, -from[i][1] * y, from[i][1]};
  }
  if (!solve(equations)) return {1, 0, 0, 0, 1, 0, 0, 0};
  std::array<double, 8> coefficients{};
  for (std::size_t i = 0; i < k_unknowns; ++i) {
    coefficients[i] = static_cast<float>(equations[i][k_unknowns] / equations[i][i]);
  }
  return coefficients;
}

}  // namespace bale::transform_detail
