// Functions with the same bits on every machine, for draws and matrices.
#pragma once

#include "bale/formats/base/portable_exp.hpp"
#include "bale/formats/base/portable_trigonometry.hpp"

namespace bale::transform_detail {

using bale::portable_cos;
using bale::portable_exp;
using bale::portable_log;
using bale::portable_sin;
using bale::portable_tan;

/// Python's math.radians().
constexpr double radians(double degrees) { return degrees * (3.141592653589793 / 180.0); }

/// Python's round(): ties to even. Precondition: 0 <= x < 2^53.
double round_half_even(double x);

}  // namespace bale::transform_detail
