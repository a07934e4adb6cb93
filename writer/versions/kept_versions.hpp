// The versions in a dataset's directory, or below its prefix in an object store, and which files they need. Safe in any
// thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/destination/directory.hpp"

namespace bale {

/// A version that is not the current one, as it is kept.
struct KeptVersion {
  std::string id;
  Manifest manifest;
  std::time_t replaced_at = 0;
};

/// The files below a dataset's directory. Those of an object store are listed once. For one thread.
class HeldFiles {
 public:
  explicit HeldFiles(const std::string& directory);

  const std::string& directory() const { return directory_; }
  bool holds(const std::string& path);
  /// 0 if it is not there.
  std::uint64_t size_of(const std::string& path) const;
  /// When it was written, or replaced.
  std::time_t time_of(const std::string& path) const;
  /// The paths where a file of add_files() is: next to the manifest, in "versions/", or both.
  std::vector<std::string> paths_of(const std::string& file);
  /// Layers that none of the versions needs, stored before `time`: in an object store, by runs that did not publish.
  std::vector<std::string> layers_beside(const std::set<std::string>& needed, std::time_t time) const;

 private:
  const std::string directory_;
  std::optional<DirectoryTree> tree_;
  std::map<std::string, StoredObject> objects_;
};

/// All of them. Throws `damaged` for a manifest that is not that of its version.
std::vector<KeptVersion> kept_versions(const HeldFiles& files);

/// Adds the files that a version needs to `files`: of its shards, its layers and its lists of removed samples.
void add_files(const Manifest& manifest, std::set<std::string>& files);
void add_files(const ManifestShard& shard, std::set<std::string>& files);

}  // namespace bale
