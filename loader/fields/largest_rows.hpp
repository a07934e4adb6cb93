// LargestRows: how many bytes a batch can need, from the sizes of all samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace bale::loader_detail {

/// The most bytes that a batch can need: the largest samples, each as often as one batch can contain it. Pages that no
/// batch uses are never allocated; only their address space is reserved.
class LargestRows {
 public:
  LargestRows(std::uint64_t num_rows, std::uint64_t max_deliveries)
      : num_rows_(num_rows), max_deliveries_(std::clamp<std::uint64_t>(max_deliveries, 1, num_rows)) {}

  void add(std::uint64_t bytes) {
    if (smallest_.size() * max_deliveries_ < num_rows_) {
      smallest_.push(bytes);
    } else if (bytes > smallest_.top()) {
      smallest_.pop();
      smallest_.push(bytes);
    }
  }

  /// Adds up the rows and removes them.
  std::uint64_t total() {
    std::uint64_t sum = 0;
    // The smallest sample gets the rows that the larger ones leave.
    std::uint64_t rows_left = num_rows_;
    for (std::uint64_t samples = smallest_.size(); samples > 0; --samples) {
      const std::uint64_t others = std::min(rows_left, (samples - 1) * max_deliveries_);
      sum += smallest_.top() * std::min(rows_left - others, max_deliveries_);
      rows_left = others;
      smallest_.pop();
    }
    return sum;
  }

 private:
  std::uint64_t num_rows_;
  std::uint64_t max_deliveries_;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> smallest_;
};

}  // namespace bale::loader_detail
