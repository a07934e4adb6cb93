// What a dataset's name on a command line or in a program stands for.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// One of the datasets that a spec names: a packed directory, or shards of one directory without its manifest.
struct DatasetPart {
  std::string path{};                 // as it was named; for messages
  std::string manifest_path{};        // where there is a manifest: it names the shards
  std::vector<std::string> shards{};  // else: the shard files, in order
};

struct DatasetSpec {
  std::string manifest_path{};        // where one packed directory is named: it names the shards
  std::vector<std::string> shards{};  // else: the shard files of all parts, in order
  std::vector<DatasetPart> parts{};
};

/// Resolves what Dataset::open takes: a directory, a manifest, or shard names with braces, globs and "::". Directories
/// and manifests within a "::" list are parts of their own. Throws as Dataset::open does; opens no shard.
DatasetSpec resolve_dataset(const std::string& spec);

/// Directories of the datasets in a directory that is none itself (`pack --split` makes such), sorted; empty if `spec`
/// names anything else.
std::vector<std::string> datasets_below(const std::string& spec);

}  // namespace bale
