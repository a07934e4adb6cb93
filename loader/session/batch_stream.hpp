// BatchStream: the endless sequence of one rank's batches from a given epoch and position. Immutable; any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "bale/loader/ring/ring.hpp"
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

/// A batch that workers are filling.
struct OpenBatch {
  std::uint64_t number = 0;  // in the ring
  std::uint32_t slot = 0;
  BatchPlace place{};
};

/// The slots of a ring: which are free, and which batches are open, that is, filled by workers. The others
/// have batches that the caller holds.
///
/// Not thread-safe: the Session's lock guards it.
class BatchSlots {
 public:
  /// `ring` must outlive this.
  explicit BatchSlots(Ring& ring) : ring_(ring) {
    for (std::uint32_t slot = ring.shape().num_slots; slot > 0; --slot) free_.push_back(slot - 1);
  }

  bool has_free() const { return !free_.empty(); }
  const std::deque<OpenBatch>& open() const { return open_; }  // oldest first
  std::size_t num_held() const { return ring_.shape().num_slots - free_.size() - open_.size(); }

  /// The batch that publish() opens, in a free slot. Precondition: has_free().
  OpenBatch next(const BatchPlace& place) const { return {num_opened_, free_.back(), place}; }
  /// Lets workers fill next(), whose rows are written.
  void publish(const OpenBatch& batch, std::uint32_t num_rows) {
    free_.pop_back();
    open_.push_back(batch);
    ring_.set_oldest(open_.front().number);
    ring_.publish(batch.slot, batch.number, num_rows);
    ++num_opened_;
  }
  /// The oldest batch is no longer open: the caller has it, until free().
  void take_oldest() {
    num_rows_taken_ += ring_.slot(open_.front().slot).num_rows;
    open_.pop_front();
    ring_.set_oldest(open_.empty() ? num_opened_ : open_.front().number);
  }
  void free(std::uint32_t slot) { free_.push_back(slot); }

  /// How far the workers have come, in rows since forget_rows().
  std::uint64_t rows_consumed() const {
    std::uint64_t rows = num_rows_taken_;
    for (const OpenBatch& batch : open_) rows += ring_.num_claimed(batch.slot);
    return rows;
  }
  void forget_rows() { num_rows_taken_ = 0; }

 private:
  Ring& ring_;
  std::vector<std::uint32_t> free_;
  std::deque<OpenBatch> open_;
  std::uint64_t num_opened_ = 0;  // in total; also the ring's number of the next batch
  std::uint64_t num_rows_taken_ = 0;
};

}  // namespace bale::loader_detail
