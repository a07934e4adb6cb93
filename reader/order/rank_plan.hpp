// RankPlan: which positions of an epoch go into which batch of which rank. Pure; safe in any thread.
//
// Step t of all ranks together takes the next batch_size * world_size positions, so what the first t steps took is a
// prefix of the epoch: the rest can be dealt out again to any other world size or batch size, nothing lost or repeated.
// Within a step the p-th position goes to rank p % world_size, as torch's DistributedSampler deals.
#pragma once

#include <cstdint>
#include <string_view>

namespace bale {

/// What becomes of the end of an epoch that does not fill a step.
enum class Tail : std::uint8_t {
  pad,     // filled up from the epoch's beginning (a resumed one's too), round and round where the epoch is that short,
           // until every rank has as many: DistributedSampler's way
  drop,    // left out: drop_last
  uneven,  // each sample exactly once; ranks that have fewer get rows that are masked out
};

struct RankShare {
  std::uint64_t batch_size = 1;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  Tail tail = Tail::pad;
};

/// One row of a batch.
struct PlannedRow {
  enum class Kind : std::uint8_t {
    sample,   // the epoch's delivery at `position`
    padding,  // the same, but of a position that is delivered elsewhere in this epoch already
    empty,    // nothing: `uneven` ran out of positions
  };
  Kind kind = Kind::empty;
  std::uint64_t position = 0;
};

class RankPlan {
 public:
  /// Positions [start, epoch_size) of an epoch. Throws `invalid_argument` for a batch size or world of 0, a rank
  /// outside its world, a start beyond the epoch, or sizes whose products are beyond 2^62.
  RankPlan(std::uint64_t epoch_size, std::uint64_t start, const RankShare& share);

  /// Batches of every rank; the same for all.
  std::uint64_t num_batches() const { return num_batches_; }
  /// Rows of a batch: batch_size, fewer in the last one of `pad` and `uneven`; the same for all ranks.
  std::uint64_t num_rows(std::uint64_t batch) const;
  /// Precondition: batch < num_batches(), index < num_rows(batch).
  PlannedRow row(std::uint64_t batch, std::uint64_t index) const;
  /// Where a resumed epoch starts after `batches` batches of every rank; its end after all of them, but for what `drop`
  /// leaves out.
  std::uint64_t position_after(std::uint64_t batches) const;

 private:
  std::uint64_t epoch_size_;
  std::uint64_t start_;
  RankShare share_;
  std::uint64_t num_batches_ = 0;
  std::uint64_t num_rows_ = 0;  // of all batches of a rank
};

}  // namespace bale
