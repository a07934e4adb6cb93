// AliasTable: draws from a list of weights in O(1) (Walker 1977, built as in Vose, "A linear algorithm for generating
// random numbers with a given distribution", IEEE TSE 1991).
//
// Immutable once built; safe in any thread. Built with + - * / of doubles only, without contraction (a build option),
// so the same weights give the same table everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/random.hpp"

namespace bale {

class AliasTable {
 public:
  AliasTable() = default;
  /// Throws `invalid_argument` for weights that are negative, not finite, or all zero.
  explicit AliasTable(std::span<const double> weights);

  /// Precondition: built from weights.
  std::uint64_t draw(KeyedRandom& random) const;

 private:
  struct Column {
    std::uint64_t threshold = 0;  // out of 2^53; a draw below it is the column itself
    std::uint64_t alias = 0;
  };
  std::vector<Column> columns_;
};

}  // namespace bale
