// RankPlan: which positions of an epoch go into which batch of which rank. Pure; safe in any thread.
//
// Step t of all ranks together takes the next batch_size * world_size positions, so what the first t steps took is a
// prefix of the epoch: the rest can be dealt out again to any other world size or batch size, nothing lost or repeated.
// Within a step position p goes to rank p % world_size, as torch's DistributedSampler deals.
#pragma once

#include <cstdint>
#include <string_view>

namespace bale {

/// What becomes of the end of an epoch that does not fill a step.
enum class Tail : std::uint8_t {
  pad,     // the epoch is filled up from its beginning until every rank has as many: DistributedSampler's way
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
  /// outside its world, or a start beyond the epoch.
  RankPlan(std::uint64_t epoch_size, std::uint64_t start, const RankShare& share);

  /// Batches of every rank; the same for all.
  std::uint64_t num_batches() const { return num_batches_; }
  /// Rows of a batch: batch_size, fewer in the last one of `pad` and `uneven`; the same for all ranks.
  std::uint64_t num_rows(std::uint64_t batch) const;
  PlannedRow row(std::uint64_t batch, std::uint64_t index) const;
  /// Where a resumed epoch starts after `batches` batches of every rank.
  std::uint64_t position_after(std::uint64_t batches) const;

 private:
  std::uint64_t epoch_size_;
  std::uint64_t start_;
  RankShare share_;
  std::uint64_t num_batches_ = 0;
  std::uint64_t rows_of_rank_ = 0;  // rows this rank yields in all
};

}  // namespace bale
