// The versions in a dataset's directory, and which files they need. Safe in any thread.
#pragma once

#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/journal/journal.hpp"

namespace bale {

/// A version that is not the current one, as it is kept.
struct KeptVersion {
  std::string id;
  Manifest manifest;
  std::time_t replaced_at = 0;
};

/// All of them. Throws `damaged` for a manifest that is not that of its version.
std::vector<KeptVersion> kept_versions(const std::string& directory);

/// Throws `unsupported` for a dataset in an object store, whose versions and shards are not removed.
void require_removable_shards(const std::string& directory);

/// Adds the files that a version needs to `files`: of its shards, its layers and its lists of removed samples.
void add_files(const Manifest& manifest, std::set<std::string>& files);
void add_files(const ManifestShard& shard, std::set<std::string>& files);

/// The paths below the destination where a file of add_files() is: next to the manifest, in "versions/", or both.
std::vector<std::string> paths_of(const std::string& file, DirectoryTree& tree);

/// Removes versions and files in one step that an interruption does not divide. The manifests give way to what stays.
void remove_versions(Journal& journal, const std::vector<GoneVersion>& gone, std::vector<std::string> files);

}  // namespace bale
