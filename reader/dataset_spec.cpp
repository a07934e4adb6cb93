#include "bale/reader/dataset_spec.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/reader/shard_directory.hpp"
#include "bale/reader/shard_spec.hpp"

namespace bale {
namespace {

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Path of the manifest if `spec` is a dataset directory or its manifest file; else empty.
std::string manifest_path_of(const std::string& spec) {
  if (is_directory(spec)) {
    const std::string inside = join_path(spec, k_manifest_name);
    return path_exists(inside) ? inside : std::string{};
  }
  return base_name(spec) == k_manifest_name && path_exists(spec) ? spec : std::string{};
}

}  // namespace

std::vector<std::string> datasets_below(const std::string& spec) {
  if (!is_directory(spec) || !manifest_path_of(spec).empty()) return {};
  std::vector<std::string> datasets;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(spec, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // A directory with an unfinished pack or with shards is not a directory of datasets.
    if (name == k_partial_name || is_called_as_shard(name)) return {};
    const std::string path = join_path(spec, name);
    if (!name.starts_with('.') && is_directory(path) && !manifest_path_of(path).empty()) datasets.push_back(path);
  }
  std::sort(datasets.begin(), datasets.end());
  return datasets;
}

DatasetSpec resolve_dataset(const std::string& spec) {
  DatasetSpec resolved;
  if (const std::string manifest = manifest_path_of(spec); !manifest.empty()) {
    resolved.manifest_path = manifest;
    resolved.parts.push_back({.path = spec, .manifest_path = manifest});
    return resolved;
  }
  for (const std::string& path : expand_shard_spec(spec)) {
    const std::vector<std::string> shards = is_directory(path) ? list_shards(path) : std::vector{path};
    resolved.shards.insert(resolved.shards.end(), shards.begin(), shards.end());
    if (const std::string manifest = manifest_path_of(path); !manifest.empty()) {
      resolved.parts.push_back({.path = path, .manifest_path = manifest});
    } else if (is_directory(path)) {
      resolved.parts.push_back({.path = path, .shards = shards});
    } else if (const std::string directory = parent_directory(path); !resolved.parts.empty() &&
                                                                     resolved.parts.back().path == directory &&
                                                                     resolved.parts.back().manifest_path.empty()) {
      resolved.parts.back().shards.push_back(path);
    } else {
      resolved.parts.push_back({.path = directory, .shards = {path}});
    }
  }
  return resolved;
}

}  // namespace bale
