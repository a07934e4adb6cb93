#include "bale/reader/order/alias_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

constexpr double k_one = 9007199254740992.0;  // 2^53: every multiple of 1/k_one up to 1 is a double
constexpr unsigned k_unused_bits = 64 - 53;

double largest_weight(std::span<const double> weights) {
  double largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      throw Error(ErrorCode::invalid_argument, fmt::format("weight {} is {}: not a number from 0 up", i, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (!(largest > 0)) throw Error(ErrorCode::invalid_argument, "no weight is above 0");
  return largest;
}

}  // namespace

AliasTable::AliasTable(std::span<const double> weights) : columns_(weights.size()) {
  // Weights are relative to the largest, so that their sum cannot overflow.
  const double largest = largest_weight(weights);
  double sum = 0;
  for (const double weight : weights) sum += weight / largest;

  std::vector<double> share(weights.size());  // of a column's height; 1 on average
  std::vector<std::uint64_t> below;
  std::vector<std::uint64_t> above;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    share[i] = weights[i] / largest * static_cast<double>(weights.size()) / sum;
    (share[i] < 1 ? below : above).push_back(i);
  }
  while (!below.empty() && !above.empty()) {
    const std::uint64_t small = below.back();
    const std::uint64_t large = above.back();
    below.pop_back();
    columns_[small] = {static_cast<std::uint64_t>(share[small] * k_one), large};
    share[large] = (share[large] + share[small]) - 1;
    if (share[large] < 1) {
      above.pop_back();
      below.push_back(large);
    }
  }
  // Columns that rounding left over are drawn as themselves, unless their weight is 0.
  const auto heaviest = static_cast<std::uint64_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (const std::vector<std::uint64_t>* rest : {&below, &above}) {
    for (const std::uint64_t i : *rest) {
      columns_[i] = {weights[i] > 0 ? static_cast<std::uint64_t>(k_one) : 0, heaviest};
    }
  }
}

std::uint64_t AliasTable::draw(KeyedRandom& random) const {
  const std::uint64_t i = random.below(columns_.size());
  const Column& column = columns_[i];
  return (random.next() >> k_unused_bits) < column.threshold ? i : column.alias;
}

}  // namespace bale
