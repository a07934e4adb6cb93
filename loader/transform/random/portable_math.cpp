#include "bale/loader/transform/random/portable_math.hpp"

#include <cmath>

namespace bale::transform_detail {

double round_half_even(double x) {
  const double whole = std::floor(x);
  const double part = x - whole;
  if (part < 0.5) return whole;
  if (part > 0.5) return whole + 1;
  return std::fmod(whole, 2.0) == 0.0 ? whole : whole + 1;
}

}  // namespace bale::transform_detail
