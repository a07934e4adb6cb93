// BatchSlots: the slots of a ring: which are free, and which batches are open, that is, filled by workers. The others
// have batches that the caller holds.
//
// Not thread-safe: the Session's lock guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "bale/loader/ring/ring.hpp"
#include "bale/loader/session/batch_stream.hpp"

namespace bale::loader_detail {

/// A batch that workers are filling.
struct OpenBatch {
  std::uint64_t number = 0;  // in the ring
  std::uint32_t slot = 0;
  BatchPlace place{};
};

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
