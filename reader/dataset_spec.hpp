// What a dataset's name on a command line or in a program stands for.
#pragma once

#include <string>
#include <vector>

namespace bale {

struct DatasetSpec {
  std::string manifest_path{};        // where there is a manifest: it names the shards
  std::vector<std::string> shards{};  // else: the shard files, in order
};

/// Resolves what Dataset::open takes: a directory, a manifest, or shard names with braces, globs and "::".
/// Throws as Dataset::open does; opens no shard.
DatasetSpec resolve_dataset(const std::string& spec);

/// Directories of the datasets in a directory that is none itself (`pack --split` makes such), sorted; empty if `spec`
/// names anything else.
std::vector<std::string> datasets_below(const std::string& spec);

}  // namespace bale
