// Compiled without floating-point contraction.
#include "bale/loader/transform/random/portable_math.hpp"

#include <algorithm>
#include <cmath>

namespace bale::transform_detail {
namespace {

constexpr double k_most_exponent = 700;

/// Within (0, 1], so that it has a logarithm.
double positive_uniform(KeyedRandom& random) { return 1.0 - random.uniform(); }

/// The logarithm of a draw from Gamma(alpha, 1): Marsaglia and Tsang, "A simple method for generating gamma variables"
/// (2000), with their step for alpha below 1. With a small alpha, most draws themselves are too small for a double.
double draw_log_gamma(double alpha, KeyedRandom& random) {
  const double boost = alpha < 1 ? portable_log(positive_uniform(random)) / alpha : 0;
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = portable_normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (portable_log(positive_uniform(random)) < 0.5 * x * x + d - d * v + d * portable_log(v)) {
      return portable_log(d * v) + boost;
    }
  }
}

}  // namespace

double round_half_even(double x) {
  const double whole = std::floor(x);
  const double part = x - whole;
  if (part < 0.5) return whole;
  if (part > 0.5) return whole + 1;
  return std::fmod(whole, 2.0) == 0.0 ? whole : whole + 1;
}

double portable_normal(KeyedRandom& random) {
  for (;;) {
    const double x = 2 * random.uniform() - 1;
    const double y = 2 * random.uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * portable_log(square) / square);
  }
}

double draw_beta(double alpha, KeyedRandom& random) {
  if (alpha == 1) return random.uniform();
  const double a = draw_log_gamma(alpha, random);
  const double b = draw_log_gamma(alpha, random);
  return 1 / (1 + portable_exp(std::clamp(b - a, -k_most_exponent, k_most_exponent)));
}

std::vector<double> draw_dirichlet(double alpha, std::size_t count, KeyedRandom& random) {
  std::vector<double> shares(count);
  for (double& share : shares) share = draw_log_gamma(alpha, random);
  const double most = *std::max_element(shares.begin(), shares.end());
  double sum = 0;
  for (double& share : shares) {
    share = portable_exp(std::max(share - most, -k_most_exponent));
    sum += share;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace bale::transform_detail
