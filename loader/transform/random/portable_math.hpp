// Functions and draws with the same bits on every machine.
#pragma once

#include <cstddef>
#include <vector>

#include "bale/formats/base/math/portable_math.hpp"
#include "bale/formats/base/random.hpp"

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

/// A draw from the normal distribution of mean 0 and standard deviation 1. Source: Marsaglia's polar method.
double portable_normal(KeyedRandom& random);

/// The range of `alpha` below.
constexpr double k_least_alpha = 1.0 / 16;
constexpr double k_most_alpha = 1e6;

/// A draw from Beta(alpha, alpha).
double draw_beta(double alpha, KeyedRandom& random);

/// A draw from the symmetric Dirichlet distribution: `count` shares whose sum is 1.
std::vector<double> draw_dirichlet(double alpha, std::size_t count, KeyedRandom& random);

}  // namespace bale::transform_detail
