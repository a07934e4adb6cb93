// Publishes the manifests of datasets, with what their finished shards say, and the files next to them.
#pragma once

#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

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

}  // namespace bale
