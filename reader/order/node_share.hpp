// NodeShare: which samples of an epoch are delivered on one node, whose ranks share a cache.
//
// Threads: values; const methods may be called by many threads at once.
#pragma once

#include <cstdint>

#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale {

/// The ranks [first, first + count) of a node.
struct NodeRanks {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
};

class NodeShare {
 public:
  /// Of an order that starts at `position` of `epoch`; later epochs are complete. The rank of `share` does not matter.
  /// Preconditions: the selection does not draw; what RankPlan requires.
  NodeShare(EpochOrder order, const RankShare& share, NodeRanks ranks, std::uint64_t epoch, std::uint64_t position);

  /// Whether the sample is delivered by a rank of the node in this epoch. Deliveries that only pad the last batch do
  /// not count. O(1) per copy. Precondition: epoch >= the first one.
  bool has(std::uint64_t sample, std::uint64_t epoch) const;

 private:
  /// Positions of an epoch that are delivered.
  struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  Span span_from(std::uint64_t position, const RankShare& share) const;

  EpochOrder order_;
  std::uint64_t world_size_;
  NodeRanks ranks_;
  std::uint64_t first_epoch_;
  Span first_;
  Span whole_;
};

}  // namespace bale
