// Compiled without floating-point contraction.
#include "bale/loader/transform/geometry/affine_matrix.hpp"

#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {

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

}  // namespace bale::transform_detail
