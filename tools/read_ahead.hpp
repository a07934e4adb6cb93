// Asks for samples some way before they are read, a block at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "bale/reader/dataset.hpp"

namespace bale::tools {

class ReadAhead {
 public:
  /// Both outlive the object.
  ReadAhead(const Dataset& dataset, std::span<const std::uint64_t> order) : dataset_(dataset), order_(order) {}

  /// Before position `at` of the order is read.
  void reached(std::size_t at) {
    while (asked_ < order_.size() && asked_ < at + k_ahead) {
      const std::size_t count = std::min(k_block, order_.size() - asked_);
      dataset_.prefetch(order_.subspan(asked_, count));
      asked_ += count;
    }
  }

 private:
  static constexpr std::size_t k_block = 64;
  static constexpr std::size_t k_ahead = 2 * k_block;
  const Dataset& dataset_;
  std::span<const std::uint64_t> order_;
  std::size_t asked_ = 0;
};

}  // namespace bale::tools
