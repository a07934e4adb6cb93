// prune_versions(): removes versions of a packed dataset (bale/reader/version.hpp) and the files that only they need.
//
// What goes are the manifests of these versions, and every file of a shard that they name and no version that stays
// does. In the place of a manifest stays a line by which readers of "DIRECTORY@ID" say that it was pruned. An
// interrupted run is completed by the next run that writes to the dataset.
//
// Processes that have one of these versions open can read it as far as their files are open.
//
// Threads: may be called by many threads at once, for different datasets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bale {

struct PruneOptions {
  /// Versions that stay, next to the current one: ids or their beginnings, or a number of up to 3 digits, which stands
  /// for that many of the newest, the current one among them. At least one.
  std::vector<std::string> keep{};
  bool force = false;    // also versions that were replaced less than 14 days ago, and layers of an object store that
                         // no version names and that are not a day old
  bool dry_run = false;  // look, and change nothing
};

struct PruneReport {
  std::vector<std::string> kept{};    // ids, the current one first
  std::vector<std::string> pruned{};  // ids
  std::uint64_t num_files = 0;        // that were removed
  std::uint64_t num_bytes = 0;        // of these files
  bool bucket_keeps_removed = false;  // of an object store: older versions of the removed objects stay in it
};

/// Returns when it is durable. Throws
///   `not_found`         the directory has no manifest, or no such version
///   `invalid_argument`  nothing to keep is named, a version is younger than 14 days, or the dataset is on a
///                       server that is not an object store
///   `exists`            the dataset has an unfinished run
///   `retryable`         another run writes to the dataset
///   `damaged`           a manifest that cannot be read, so that it is unknown which files it needs
PruneReport prune_versions(const std::string& directory, const PruneOptions& options);

}  // namespace bale
