// Compiled without floating-point contraction.
#include "bale/loader/transform/geometry/perspective_coefficients.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

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
