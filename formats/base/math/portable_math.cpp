// Compiled without floating-point contraction.
#include <cmath>

#include "bale/formats/base/math/portable_math.hpp"

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

namespace {

/// The unevaluated sum of two doubles; |low| is at most half a unit in the last place of `high`.
struct Pair {
  double high = 0;
  double low = 0;
};

Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

Pair plus(const Pair& a, const Pair& b) {
  const Pair high = two_sum(a.high, b.high);
  const Pair low = two_sum(a.low, b.low);
  const Pair sum = two_sum(high.high, high.low + low.high);
  return two_sum(sum.high, sum.low + low.low);
}

Pair times(const Pair& a, const Pair& b) {
  const double product = a.high * b.high;
  const double rest = std::fma(a.high, b.high, -product);
  return two_sum(product, rest + (a.high * b.low + a.low * b.high));
}

Pair divided(const Pair& a, const Pair& b) {
  const double first = a.high / b.high;
  const Pair product = times(b, {first, 0});
  const Pair rest = plus(a, {-product.high, -product.low});
  return two_sum(first, rest.high / b.high);
}

// Half of pi in parts of 33 bits, whose products with the number of quarter turns are exact, and what is left.
constexpr double k_half_pi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e0p-69, 0x1.b839a252049c1p-104};
constexpr double k_quarters_per_radian = 0x1.45f306dc9c883p-1;

/// x = quarters * pi / 2 + rest, and |rest| <= pi / 4.
struct Reduced {
  Pair rest;
  int quarter = 0;  // modulo 4
};

Reduced reduce(double x) {
  const double quarters = std::floor(x * k_quarters_per_radian + 0.5);
  Pair rest{x, 0};
  for (const double part : k_half_pi) rest = plus(rest, two_sum(-quarters * part, 0));
  return {rest, static_cast<int>(static_cast<long long>(quarters) & 3)};
}

/// 1 - s / (n (n + 1)) (1 - s / ((n + 2) (n + 3)) (1 - ...)) for s = x^2: the Taylor series by Horner's method. The
/// omitted terms are below 2^-120 of the sum.
Pair series(const Pair& square, int first) {
  Pair sum{1, 0};
  for (int n = first + 26; n >= first; n -= 2) {
    const Pair term = divided(times(square, sum), {static_cast<double>(n * (n + 1)), 0});
    sum = plus({1, 0}, {-term.high, -term.low});
  }
  return sum;
}

struct SineCosine {
  Pair sine;
  Pair cosine;
};

SineCosine sine_cosine(double x) {
  const Reduced reduced = reduce(x);
  const Pair square = times(reduced.rest, reduced.rest);
  const Pair sine = times(reduced.rest, series(square, 2));
  const Pair cosine = series(square, 1);
  const Pair minus_sine{-sine.high, -sine.low};
  const Pair minus_cosine{-cosine.high, -cosine.low};
  switch (reduced.quarter) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, minus_sine};
    case 2:
      return {minus_sine, minus_cosine};
    default:
      return {minus_cosine, sine};
  }
}

}  // namespace

double portable_sin(double x) { return x == 0 ? x : sine_cosine(x).sine.high; }

double portable_cos(double x) { return sine_cosine(x).cosine.high; }

double portable_tan(double x) {
  if (x == 0) return x;  // keeps the sign
  const SineCosine both = sine_cosine(x);
  return divided(both.sine, both.cosine).high;
}

}  // namespace bale
