// Run: some or all shards of a plan: adopts those that earlier runs finished, and has the others written on threads. It
// does not know what the shards are made from, nor where they are stored.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

/// `jobs`, or if that is 0, this many threads per core.
unsigned jobs_or(unsigned jobs, unsigned per_core);

class Run {
 public:
  /// Sets the totals of `progress`. `slots` are ascending by number. All else must outlive this object.
  Run(RunStore& store, const PackOptions& options, std::vector<Slot> slots, Progress& progress);

  /// Adopts the shards that the store has intact by its records. What was adopted before is forgotten.
  void adopt_recorded(CheckDepth depth);
  /// Adopts the shards of published datasets that are intact. The others must come out as they were.
  void adopt_published(const Plan& plan, const std::vector<Manifest>& published, CheckDepth depth);
  /// Throws `damaged` if a shard of these published datasets is not what was merged.
  void require_merged(const Plan& plan, const std::vector<Manifest>& published, CheckDepth depth);

  /// Has the shards that were not adopted written and published. After an error it sets `progress.stop`, to stop the
  /// other threads.
  void write_remaining(const WriteShard& write);

  const std::vector<Slot>& slots() const { return slots_; }
  /// What is recorded of these shards now.
  ShardRecords records() const;
  bool is_complete() const;
  /// Shards that an earlier run finished.
  std::uint64_t num_resumed() const;
  /// Precondition: the slots are all shards of the plan, and finished.
  FinishedShards finished(const Plan& plan) const;

 private:
  void adopt(ShardRecords records, CheckDepth depth);
  void write_one(Slot& slot, const WriteShard& write);

  RunStore& store_;
  const PackOptions& options_;
  Progress& progress_;
  std::vector<Slot> slots_;
};

}  // namespace bale
