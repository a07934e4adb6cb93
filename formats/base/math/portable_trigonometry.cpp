// Compiled without floating-point contraction.
#include "bale/formats/base/portable_trigonometry.hpp"

#include <cmath>

namespace bale {
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
