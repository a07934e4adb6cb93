// Resolves the spec of a dataset, as it is given on a command line or in a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/manifest.hpp"

namespace bale {

enum class FoundBy { name, pattern, directory };

/// One of the datasets that a spec names: a packed directory, or shards of one directory without its manifest.
struct DatasetPart {
  std::string path{};                 // as given; for messages
  std::string manifest_path{};        // if there is a manifest: it lists the shards
  std::string directory{};            // of these shards
  std::string version{};              // id of the version that was named; empty: the newest
  std::vector<std::string> shards{};  // without a manifest: the shard files, in order
  FoundBy found_by = FoundBy::name;   // how the shards were found
  NoticeLog of_pattern{};             // what is odd about all that the pattern matched, in its first part

  /// The manifest. Throws what load_manifest() throws.
  Manifest load() const;
  /// The paths of the shards of this manifest, in order.
  std::vector<std::string> paths_of(const Manifest& manifest) const;
  /// What was not found: what else the directory has, shards that the names of others count.
  NoticeLog missed() const;
  /// Whether files next to the shards that are of all of them are of this manifest.
  bool is_newest() const { return version.empty() || parent_directory(manifest_path) == directory; }
};

struct DatasetSpec {
  std::vector<DatasetPart> parts{};
};

/// Resolves what Dataset::open() takes: a directory, a version of it, a manifest, or shard names with braces, globs and
/// "::". Each directory or manifest in a "::" list is a part of its own. Throws as Dataset::open() does. Opens no
/// shard.
DatasetSpec resolve_dataset(const std::string& spec);

/// Warns of shards that the names of others count ("x-00000-of-00002") or whose numbers they skip ("x-000000",
/// "x-000002"), and that are not among them; and of names of several splits ("train-000000", "val-000000").
NoticeLog odd_shard_names(const std::vector<std::string>& shards);

/// A line that `files`, which people call `what`, are of several splits by their names, or else by those of their
/// directories; empty if they are not.
std::string several_splits(const std::vector<std::string>& files, std::string_view what);

}  // namespace bale
