// Compiled without floating-point contraction.
#include "bale/formats/base/portable_exp.hpp"

#include <cmath>

namespace bale {
namespace {

// ln 2 in two parts. The first ends in enough zero bits that its product with an exponent is exact.
constexpr double k_ln2_high = 0x1.62e42feep-1;
constexpr double k_ln2_low = 0x1.a39ef35793c76p-33;
constexpr double k_inverse_ln2 = 0x1.71547652b82fep+0;
constexpr double k_sqrt_half = 0x1.6a09e667f3bcdp-1;

}  // namespace

double portable_exp(double x) {
  const double exponent = std::floor(x * k_inverse_ln2 + 0.5);
  const double rest = (x - exponent * k_ln2_high) - exponent * k_ln2_low;
  // Taylor series up to the 14th power, by Horner's method. |rest| <= ln(2) / 2, so the omitted terms are below 2^-60.
  double sum = 1.0;
  for (int n = 14; n > 0; --n) sum = 1.0 + sum * rest / n;
  return std::ldexp(sum, static_cast<int>(exponent));
}

double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < k_sqrt_half) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)), as a series of odd powers up to the 23rd. The argument is within 0.172 of 0.
  const double slope = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = slope * slope;
  double sum = 0.0;
  for (int n = 23; n > 1; n -= 2) sum = (sum + 1.0 / n) * square;
  const double log_mantissa = 2.0 * slope + 2.0 * slope * sum;
  return exponent * k_ln2_high + (log_mantissa + exponent * k_ln2_low);
}

}  // namespace bale
