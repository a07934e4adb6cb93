// Adds up what the finished shards of a dataset say, and publishes its manifest and the files next to it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/publisher.hpp"

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
  void publish(ManifestPublisher& publisher);

 private:
  void add_fields(const std::vector<ManifestField>& fields);

  const PackOptions& options_;
  const PlannedDataset& dataset_;
  PackReport& report_;
  Manifest manifest_;
  std::string ledger_;
};

/// The finished shards of each dataset of a plan, in order.
using FinishedShards = std::vector<std::vector<FinishedShard>>;

/// Those of `slots`, which are all shards of the plan in order: each has its `dataset` and what is `finished`.
template <typename Slots>
FinishedShards finished_by_dataset(const Plan& plan, const Slots& slots) {
  FinishedShards finished(plan.datasets.size());
  for (const auto& slot : slots) {
    finished[static_cast<std::size_t>(slot.dataset - plan.datasets.data())].push_back(*slot.finished);
  }
  return finished;
}

/// Throws `damaged` if all samples of a dataset were skipped.
void require_samples(const PackOptions& options, const Plan& plan, const FinishedShards& finished);

/// What a source says of itself. Borrows its classes.
ManifestFacts facts_of(const Source& source);

/// Publishes lists, ledger and manifest of each dataset, and what the publisher still holds.
PackReport publish_manifests(const ManifestFacts& facts, const PackOptions& options, const Plan& plan,
                             const FinishedShards& finished, ManifestPublisher& publisher);

/// The report of a run that found its datasets published, each with its manifest here, in the order of the plan.
PackReport report_of_earlier_run(const PackOptions& options, const Plan& plan, std::vector<Manifest> manifests,
                                 std::uint64_t num_resumed_shards, std::uint64_t num_repaired_shards);

/// Publishes one list of a dataset's shards.
void publish_list(ManifestPublisher& publisher, const PlannedDataset& dataset, const Manifest& manifest,
                  const ShardList& list);

/// Throws `damaged`: all samples of the dataset were skipped, the first of them for this reason.
[[noreturn]] void refuse_empty_dataset(const std::string& directory, std::uint64_t num_samples,
                                       const SkippedSample& first);

}  // namespace bale
