// Worker: claims rows of the ring and fills them. One a thread, whether in the loader's process or in one of its own.
#pragma once

#include <functional>

#include "bale/formats/core/sample.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/loader/worker/learned_points.hpp"
#include "bale/loader/worker/worker_config.hpp"

namespace bale::loader_detail {

/// The shard of that number, open; the reference outlives the worker. Throws.
using ShardOf = std::function<const Shard&(std::uint32_t shard)>;

class Worker {
 public:
  /// `ring` and `config` outlive the worker.
  Worker(const Ring& ring, const WorkerConfig& config, std::uint32_t number, ShardOf shard_of);

  /// Fills one row; false where there is none to claim. Errors of samples go into their rows.
  bool step();
  /// Until the ring is stopped or `keep_on` (asked whenever there is nothing to do, and at least twice a second) says
  /// no.
  void run(const std::function<bool()>& keep_on);

 private:
  void fill(const Claim& claim, Row& row);
  KeptEntryPoints kept_entry_points(const Shard& shard, const Row& row, Bytes image) const;
  void learn(const Row& row, Bytes image);

  const Ring& ring_;
  const WorkerConfig& config_;
  std::uint32_t number_;
  ShardOf shard_of_;
  SamplePipeline pipeline_;
  LearnedPoints learned_;
  Scratch scratch_;
};

}  // namespace bale::loader_detail
