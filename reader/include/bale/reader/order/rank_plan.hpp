// RankPlan: assigns the positions of an epoch to batches and ranks.
//
// At step t all ranks together take the next batch_size * world_size positions. So what the first t steps took is a
// prefix of the epoch, and the rest can be assigned again with another world size or batch size: nothing is lost or
// repeated. Within a step, the p-th position goes to rank p % world_size, as in torch's DistributedSampler.
//
// Threads: values; const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <string_view>

namespace bale {

/// What happens at the end of an epoch, if the rest does not fill a step.
enum class Tail : std::uint8_t {
  pad,   // repeats deliveries from the epoch's beginning until every rank has equally many, as DistributedSampler does
  drop,  // leaves the rest out: drop_last
  uneven,  // delivers each sample exactly once; ranks that have fewer get rows that are masked out
};

struct RankShare {
  std::uint64_t batch_size = 1;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  Tail tail = Tail::pad;
  bool pads_own = false;  // `pad` repeats the rank's own first delivery instead: it is on the rank's node
};

/// One row of a batch.
struct PlannedRow {
  enum class Kind : std::uint8_t {
    sample,   // the epoch's delivery at `position`
    padding,  // the same, for a position that is delivered elsewhere in this epoch too
    empty,    // nothing: `uneven` has no positions left
  };
  Kind kind = Kind::empty;
  std::uint64_t position = 0;
};

class RankPlan {
 public:
  /// Plans positions [start, epoch_size) of an epoch. Throws `invalid_argument` for a batch size or world size of 0, a
  /// rank that is not below the world size, a start after the end of the epoch, or sizes above 2^62.
  RankPlan(std::uint64_t epoch_size, std::uint64_t start, const RankShare& share);

  /// Number of batches, the same on every rank.
  std::uint64_t num_batches() const { return num_batches_; }
  /// Rows of a batch, the same on every rank: batch_size, or fewer in the last batch of `pad` and `uneven`.
  /// Precondition: batch < num_batches().
  std::uint64_t num_rows(std::uint64_t batch) const;
  /// A row of a batch of this rank. Preconditions: batch < num_batches(), index < num_rows(batch).
  PlannedRow row(std::uint64_t batch, std::uint64_t index) const;
  /// The position at which to resume after `batches` batches on every rank. After all batches, the end of the epoch;
  /// with `drop`, the first position that is left out.
  std::uint64_t position_after(std::uint64_t batches) const;

 private:
  std::uint64_t epoch_size_;
  std::uint64_t start_;
  RankShare share_;
  std::uint64_t num_batches_ = 0;
  std::uint64_t num_rows_ = 0;  // of all batches of a rank
};

}  // namespace bale
