// Random shares of a whole, from Beta and Dirichlet distributions, with the same bits on every machine.
#pragma once

#include <cstddef>
#include <vector>

#include "bale/formats/base/random.hpp"

namespace bale::transform_detail {

/// The range of `alpha` below.
constexpr double k_least_alpha = 1.0 / 16;
constexpr double k_most_alpha = 1e6;

/// A draw from Beta(alpha, alpha).
double draw_beta(double alpha, KeyedRandom& random);

/// A draw from the symmetric Dirichlet distribution: `count` shares whose sum is 1.
std::vector<double> draw_dirichlet(double alpha, std::size_t count, KeyedRandom& random);

}  // namespace bale::transform_detail
