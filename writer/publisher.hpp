// Gives the files of a run their final names: each as soon as it is complete and durable, or, if the run replaces an
// older dataset, all of them at the end.
//
// Threads: shard() may be called by many threads at once.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "bale/writer/destination.hpp"
#include "bale/writer/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan.hpp"

namespace bale {

/// Temporary and final names of all files of a shard: sidecars, index, seek points and, last of all, the shard itself:
/// when it has its final name, all that belongs to it has.
std::vector<Replacement::Move> moves_of_shard(const PackOptions& options, const PlannedDataset& dataset,
                                              const PlannedShard& shard);

class Publisher {
 public:
  Publisher(Journal& journal, const PackOptions& options, const Plan& plan)
      : journal_(journal), options_(options), plan_(plan) {}

  /// A shard that is complete under its temporary names and recorded.
  void shard(const PlannedDataset& dataset, const PlannedShard& shard);
  /// A file beside the shards of a dataset.
  void file(const PlannedDataset& dataset, const std::string& name, const std::string& text);
  /// The dataset's manifest, after everything else of it.
  void manifest(const PlannedDataset& dataset, const std::string& text);
  /// After all manifests. Puts a new dataset in the place of an older one; returns those that were replaced.
  std::vector<PackReport::Replaced> finish();

 private:
  Replacement::Move stage(const PlannedDataset& dataset, const std::string& name, const std::string& text) const;
  void publish(const Replacement::Move& move) const;

  Journal& journal_;
  const PackOptions& options_;
  const Plan& plan_;
  std::mutex mutex_;
  std::vector<Replacement::Move> files_;  // those of a staged run
  std::vector<Replacement::Move> manifests_;
};

}  // namespace bale
