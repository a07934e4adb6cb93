#include "bale/reader/dataset_spec.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "bale/formats/core/file.hpp"
#include "bale/formats/core/manifest.hpp"
#include "bale/reader/shard_directory.hpp"
#include "bale/reader/shard_spec.hpp"

namespace bale {
namespace {

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// The manifest of a spec that names a dataset directory or its manifest file; empty for anything else.
std::string manifest_path_of(const std::string& spec) {
  if (is_directory(spec)) {
    const std::string inside = join_path(spec, k_manifest_name);
    return exists(inside) ? inside : std::string{};
  }
  return base_name(spec) == k_manifest_name && exists(spec) ? spec : std::string{};
}

}  // namespace

DatasetSpec resolve_dataset(const std::string& spec) {
  DatasetSpec resolved{.manifest_path = manifest_path_of(spec)};
  if (!resolved.manifest_path.empty()) return resolved;
  for (const std::string& path : expand_shard_spec(spec)) {
    const std::vector<std::string> shards = is_directory(path) ? list_shards(path) : std::vector{path};
    resolved.shards.insert(resolved.shards.end(), shards.begin(), shards.end());
  }
  return resolved;
}

}  // namespace bale
