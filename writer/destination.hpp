// The destination directory: what may stand there before a run, and what is removed.
// Nothing that bale did not write is ever deleted: only files named by a manifest or a journal of ours, and of
// manifests only those of the datasets whose places this run writes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan.hpp"

namespace bale {

/// Name of the ledger of samples that were left out, beside the manifest.
inline constexpr const char* k_ledger_name = "skipped.jsonl";

/// Directory of one planned dataset.
std::string dataset_directory(const PackOptions& options, const PlannedDataset& dataset);

/// The manifests of a finished run of this very plan, one per planned dataset; empty if one is missing or another's.
std::vector<Manifest> finished_manifests(const PackOptions& options, const Plan& plan);

/// Throws `exists` if the mode is not to overwrite and the destination holds something that the run is not to go on
/// with. Touches nothing.
void require_empty(const PackOptions& options, const Plan& plan);

/// A destination that is ready: locked, and with a journal of this run.
struct Destination {
  Journal journal;
  std::vector<Manifest> finished{};  // of this very plan: what they name is checked, and only written if it is missing
};

/// Makes the destination ready for the mode. An older dataset in the same place is left as it is: the journal is then
/// staged. Throws `exists` if something is in the way, `retryable` if another run is at work.
Destination prepare_destination(const PackOptions& options, const Plan& plan);

struct PlannedReplacement {
  Replacement replacement;
  std::vector<PackReport::Replaced> replaced;
};

/// What removing the older datasets, and giving the new files their names, consists of. Throws `exists` if a stranger's
/// file is in the way.
PlannedReplacement plan_replacement(const PackOptions& options, const Plan& plan,
                                    const std::vector<Replacement::Move>& files,
                                    const std::vector<Replacement::Move>& manifests);

/// After a run that published nothing: removes its journal, and the directories it made if they are empty.
void abandon_destination(Journal& journal, const PackOptions& options, const Plan& plan);

}  // namespace bale
