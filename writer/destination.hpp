// The destination directory: what may stand there before a run, and what is removed.
// Nothing that bale did not write is ever deleted: only files named by a manifest or a journal of ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bale/formats/core/manifest.hpp"
#include "bale/writer/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan.hpp"

namespace bale {

/// Name of the ledger of samples that were left out, beside the manifest.
inline constexpr const char* k_ledger_name = "skipped.jsonl";

/// Directory of one planned dataset.
std::string dataset_directory(const PackOptions& options, const PlannedDataset& dataset);

/// Makes the destination ready for the mode and returns its locked journal; nullopt where `resume` finds
/// the same plan finished already. Throws `exists` where something is in the way.
std::optional<Journal> prepare_destination(const PackOptions& options, const Plan& plan);

/// After a run that finished no shard: removes its journal, and the directories it made where they are empty.
void abandon_destination(const PackOptions& options, const Plan& plan);

}  // namespace bale
