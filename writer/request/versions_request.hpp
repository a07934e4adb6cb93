// What a user asks about the versions of a dataset: `bale log`, and Python's versions() and prune().
//
// Functions are safe in any thread, for different datasets.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/prune.hpp"

namespace bale {

/// The options of `bale log --prune` that say what goes.
void add_prune_options(OptionTable& table, PruneOptions& options);

/// The one packed dataset that a spec names. Throws `invalid_argument` for several, and for shards without a manifest.
DatasetPart one_dataset(const std::string& spec);
/// prune_versions() of the dataset that a spec names without a version.
PruneReport prune(const std::string& spec, const PruneOptions& options);

/// What is said if a report has `bucket_keeps_removed`.
inline constexpr const char* k_bucket_keeps_removed =
    "the bucket is versioned: older versions of the removed objects stay until they are deleted, too";

/// The reports as JSON text, each ending in a newline. Versions as dataset_versions() lists them.
std::string versions_json(const std::string& spec, const std::vector<DatasetVersion>& versions);
std::string prune_json(const std::string& spec, const PruneReport& report);

}  // namespace bale
