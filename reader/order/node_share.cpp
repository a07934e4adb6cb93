#include "bale/reader/order/node_share.hpp"

namespace bale {

NodeShare::NodeShare(EpochOrder order, const RankShare& share, NodeRanks ranks, std::uint64_t epoch,
                     std::uint64_t position)
    : order_(std::move(order)),
      world_size_(share.world_size),
      ranks_(ranks),
      first_epoch_(epoch),
      first_(span_from(position, share)),
      whole_(span_from(0, share)) {}

NodeShare::Span NodeShare::span_from(std::uint64_t position, const RankShare& share) const {
  const RankPlan plan(order_.size(), position, share);
  return {position, plan.position_after(plan.num_batches())};
}

bool NodeShare::has(std::uint64_t sample, std::uint64_t epoch) const {
  const Span& span = epoch == first_epoch_ ? first_ : whole_;
  const std::uint64_t times = order_.selection().times();
  for (const std::uint64_t delivery : order_.selection().deliveries_of(sample)) {
    for (std::uint64_t item = delivery * times; item < (delivery + 1) * times; ++item) {
      const std::uint64_t position = order_.position_of(epoch, item);
      if (position < span.begin || position >= span.end) continue;
      const std::uint64_t rank = (position - span.begin) % world_size_;
      if (rank >= ranks_.first && rank - ranks_.first < ranks_.count) return true;
    }
  }
  return false;
}

}  // namespace bale
