#include "bale/reader/spec/dataset_spec.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/shard_spec.hpp"
#include "bale/reader/spec/shard_directory.hpp"

namespace bale {
namespace {

/// Whether a web page's query names a shard: "get?file=a.tar&version=3".
bool has_shard_in_query(std::string_view name) {
  for (std::string_view rest = name.substr(begin_of_query(name)); !rest.empty();) {
    const std::size_t end = std::min(rest.find('&', 1), rest.size());
    if (is_called_as_shard(std::string(rest.substr(0, end)))) return true;
    rest.remove_prefix(end);
  }
  return false;
}

/// Servers have files only. A name that is not like a shard's is taken as a directory.
bool may_be_remote_directory(const std::string& name) {
  return remote_storage_of(name) != nullptr && name.find_first_of("*{?") >= begin_of_query(name) &&
         end_of_first_name(name) == std::string_view::npos && base_name(name) != k_manifest_name &&
         !is_called_as_shard(base_name(name)) && !has_shard_in_query(name);
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Path of the manifest if `spec` is a dataset directory or its manifest file; else empty.
std::string manifest_path_of(const std::string& spec) {
  if (is_directory(spec) || may_be_remote_directory(spec)) {
    if (const Storage* const storage = remote_storage_of(spec)) storage->check(spec);
    const std::string inside = join_name(spec, k_manifest_name);
    return path_exists(inside) ? inside : std::string{};
  }
  return base_name(spec) == k_manifest_name && path_exists(spec) ? spec : std::string{};
}

/// The shards of a directory without a manifest; else the path itself.
std::vector<std::string> shards_at(const std::string& path) {
  if (is_directory(path)) return list_shards(path);
  if (may_be_remote_directory(path) && manifest_path_of(path).empty()) {
    if (auto listed = shards_in_own_list(path)) return std::move(*listed);
    try {
      std::vector<std::string> shards = remote_storage_of(path)->list(path);
      std::erase_if(shards, [](const std::string& shard) { return !is_called_as_shard(base_name(shard)); });
      if (!shards.empty()) return shards;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;  // without listings it can only be a file
    }
  }
  return {path};
}

/// Before any remote file is opened, which makes the cache.
void require_named_outside_cache(const std::string& spec) {
  for (std::string_view rest = spec; !rest.empty();) {
    const std::size_t end = std::min(end_of_first_name(rest), rest.size());
    if (end > 0) require_outside_cache(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
}

DatasetSpec resolve_parts(const std::string& spec) {
  DatasetSpec resolved;
  if (const std::string manifest = manifest_path_of(spec); !manifest.empty()) {
    resolved.manifest_path = manifest;
    require_outside_cache(spec);
    resolved.parts.push_back({.path = spec, .manifest_path = manifest});
    return resolved;
  }
  for (const std::string& path : expand_shard_spec(spec)) {
    const std::vector<std::string> shards = shards_at(path);
    resolved.shards.insert(resolved.shards.end(), shards.begin(), shards.end());
    if (const std::string manifest = manifest_path_of(path); !manifest.empty()) {
      require_outside_cache(path);
      resolved.parts.push_back({.path = path, .manifest_path = manifest});
    } else if (is_directory(path) || shards != std::vector{path}) {  // of this machine, or listed by a server
      require_outside_cache(path);
      resolved.parts.push_back({.path = path, .shards = shards});
    } else if (const std::string directory = parent_directory(path); !resolved.parts.empty() &&
                                                                     resolved.parts.back().path == directory &&
                                                                     resolved.parts.back().manifest_path.empty()) {
      resolved.parts.back().shards.push_back(path);
    } else {
      require_outside_cache(path);
      resolved.parts.push_back({.path = directory, .shards = {path}});
    }
  }
  return resolved;
}

}  // namespace

DatasetSpec resolve_dataset(const std::string& spec) {
  require_named_outside_cache(spec);
  return resolve_parts(spec);
}

}  // namespace bale
