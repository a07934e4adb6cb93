// The run of a pack: prepares the destination, takes up what an earlier run finished, has the missing shards written on
// threads, and publishes shards and manifests. It does not know what the shards are made from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/dataset_manifest.hpp"

namespace bale {

struct PackWork {
  Plan plan;
  std::vector<std::string> places;  // that the run reads from; the destination must lie apart from them
  ManifestFacts facts;
  ListSamples samples{};  // to say what changed since an unfinished run; empty: unknown
  /// Writes a shard and the files next to it under the temporary name `staged`, as write_shard() does. Called by many
  /// threads at once. The same plan must always lead to the same bytes.
  std::function<FinishedShard(const PlannedDataset&, const PlannedShard&, const std::string& staged)> write;
};

/// Runs it and returns when everything is durable. Throws what pack() throws once its plan is made.
PackReport run_pack(const PackWork& work, const PackOptions& options, Progress& progress);

}  // namespace bale
