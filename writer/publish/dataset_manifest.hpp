// Adds up what the finished shards of a dataset say, and publishes its manifest and the files next to it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

class DatasetManifest {
 public:
  /// `report` gets what is added. All arguments but `facts` must outlive this object.
  DatasetManifest(const PackOptions& options, const Plan& plan, const PlannedDataset& dataset, ManifestFacts facts,
                  PackReport& report);

  /// Call it in the order of the shards.
  void add(const FinishedShard& finished);
  /// A sample that no shard has left out.
  void leave_out(const SkippedSample& sample);
  /// Publishes lists, ledger and manifest. Call it once, after all others.
  void publish(RunStore& store);

 private:
  void add_fields(const std::vector<ManifestField>& fields);

  const PackOptions& options_;
  const PlannedDataset& dataset_;
  PackReport& report_;
  Manifest manifest_;
  std::string ledger_;
};

/// Throws `damaged` if all samples of a dataset were skipped.
void require_samples(const PackOptions& options, const Plan& plan, const FinishedShards& finished);

/// What a source says of itself. Borrows its classes.
ManifestFacts facts_of(const Source& source);

/// Publishes lists, ledger and manifest of each dataset, and ends the run.
PackReport publish_manifests(const ManifestFacts& facts, const PackOptions& options, const Plan& plan,
                             const FinishedShards& finished, RunStore& store);

/// The report of a run that found its datasets published, each with its manifest here, in the order of the plan.
PackReport report_of_earlier_run(const PackOptions& options, const Plan& plan, std::vector<Manifest> manifests,
                                 std::uint64_t num_resumed_shards, std::uint64_t num_repaired_shards);

/// Publishes one list of a dataset's shards.
void publish_list(RunStore& store, const PlannedDataset& dataset, const Manifest& manifest, const ShardList& list);

/// Throws `damaged`: all samples of the dataset were skipped, the first of them for this reason.
[[noreturn]] void refuse_empty_dataset(const std::string& directory, std::uint64_t num_samples,
                                       const SkippedSample& first);

}  // namespace bale
