// BatchStream: the endless sequence of one rank's batches from a given epoch and position. Immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale::loader_detail {

/// A row of a batch, and the sample that is delivered in it (none if the row is empty).
struct StreamRow {
  PlannedRow planned;
  Pick pick;
};

/// A batch, identified by its epoch and its number in that epoch.
struct BatchPlace {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
};

class BatchStream {
 public:
  /// Starts at `position` of `epoch`. Later epochs are complete.
  BatchStream(EpochOrder order, const RankShare& share, std::uint64_t epoch, std::uint64_t position);

  /// The n-th batch from the start; nullopt if there is none, because complete epochs have no batches.
  std::optional<BatchPlace> place(std::uint64_t n) const;
  std::uint64_t num_batches(std::uint64_t epoch) const { return plan_of(epoch).num_batches(); }
  std::uint64_t num_rows(const BatchPlace& place) const { return plan_of(place.epoch).num_rows(place.index); }
  StreamRow row(const BatchPlace& place, std::uint64_t i) const;
  /// The n-th row of the stream, counted across epochs; nullopt if there is none, because complete epochs have no rows.
  std::optional<StreamRow> nth_row(std::uint64_t n, BatchPlace& place) const;
  /// Deliveries of the epoch that are consumed, over all ranks, after `batches` of its batches.
  std::uint64_t position_after(std::uint64_t epoch, std::uint64_t batches) const {
    return plan_of(epoch).position_after(batches);
  }
  const EpochOrder& order() const { return order_; }
  std::uint64_t first_epoch() const { return first_epoch_; }
  /// Position of the first epoch at which it starts.
  std::uint64_t first_position() const { return first_.position_after(0); }

 private:
  const RankPlan& plan_of(std::uint64_t epoch) const { return epoch == first_epoch_ ? first_ : whole_; }

  EpochOrder order_;
  std::uint64_t first_epoch_;
  RankPlan first_;
  RankPlan whole_;
  std::uint64_t batch_size_;
  std::uint64_t first_rows_;
  std::uint64_t whole_rows_;
};

}  // namespace bale::loader_detail
