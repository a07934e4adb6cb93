// Resolves the spec of a dataset, as it is given on a command line or in a program.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// One of the datasets that a spec names: a packed directory, or shards of one directory without its manifest.
struct DatasetPart {
  std::string path{};                 // as given; for messages
  std::string manifest_path{};        // if there is a manifest: it lists the shards
  std::vector<std::string> shards{};  // else: the shard files, in order
};

struct DatasetSpec {
  std::string manifest_path{};        // if the spec is one packed directory: it lists the shards
  std::vector<std::string> shards{};  // else: the shard files of all parts, in order
  std::vector<DatasetPart> parts{};
};

/// Resolves what Dataset::open() takes: a directory, a manifest, or shard names with braces, globs and "::". Each
/// directory or manifest in a "::" list is a part of its own. Throws as Dataset::open() does. Opens no shard.
DatasetSpec resolve_dataset(const std::string& spec);

}  // namespace bale
