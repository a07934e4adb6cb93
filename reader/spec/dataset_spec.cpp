#include "bale/reader/spec/dataset_spec.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/directory_entries.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/spec/shard_directory.hpp"
#include "bale/reader/spec/shard_place.hpp"
#include "bale/reader/spec/shard_spec.hpp"
#include "bale/reader/version.hpp"

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
  if (::stat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode);
  if (remote_storage_of(path) == nullptr && !says_absent(errno)) throw_errno("look at", path);
  return false;
}

/// A directory with a manifest, or that manifest.
std::optional<DatasetPart> newest_at(const std::string& spec) {
  if (is_directory(spec) || may_be_remote_directory(spec)) {
    if (const Storage* const storage = remote_storage_of(spec)) storage->check(spec);
    const std::string inside = join_name(spec, k_manifest_name);
    if (!path_exists(inside)) return std::nullopt;
    return DatasetPart{.path = spec, .manifest_path = inside, .directory = spec};
  }
  if (base_name(spec) != k_manifest_name || !path_exists(spec)) return std::nullopt;
  return DatasetPart{.path = spec, .manifest_path = spec, .directory = parent_directory(spec)};
}

/// The same, or a version of the dataset in a directory.
std::optional<DatasetPart> packed_at(const std::string& spec) {
  if (std::optional<DatasetPart> newest = newest_at(spec)) return newest;
  if (!names_version(spec)) return std::nullopt;
  const VersionSpec named = *split_version(spec);
  DatasetPart part{.path = spec, .directory = named.directory, .version = find_version(named)};
  const std::string kept = join_name(part.directory, kept_version(part.version));
  part.manifest_path = path_exists(kept) ? kept : join_name(part.directory, k_manifest_name);
  return part;
}

/// The shards of a directory, which has no manifest; else the path itself.
std::vector<std::string> shards_at(const std::string& path) {
  if (is_directory(path)) return list_shards(path);
  if (may_be_remote_directory(path)) {
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

bool has_wildcards(const std::string& spec) { return spec.find_first_of("*?") < begin_of_query(spec); }

/// Directories of the pattern that could not be read, and if those that it matched are of several splits.
NoticeLog odd_matches(const std::string& spec, const std::vector<DatasetPart>& parts,
                      const std::vector<std::string>& unreadable) {
  NoticeLog log;
  for (const std::string& folder : unreadable) log.add(folder, "a directory that cannot be read");
  const bool is_one_pattern = has_wildcards(spec) && end_of_first_name(spec) == std::string::npos;
  if (!is_one_pattern) return log;
  std::vector<std::string> places;
  for (const DatasetPart& part : parts) places.push_back(part.path);
  NoticeLog splits;
  if (std::string line = several_splits(places, "directories"); !line.empty()) splits.warn(std::move(line));
  log.merge(splits, spec);
  return log;
}

DatasetSpec resolve_parts(const std::string& spec) {
  DatasetSpec resolved;
  const auto take_packed = [&](const std::string& path) {
    std::optional<DatasetPart> packed = packed_at(path);
    if (!packed) return false;
    require_outside_cache(packed->directory);
    resolved.parts.push_back(*std::move(packed));
    return true;
  };
  if (take_packed(spec)) return resolved;
  const FoundBy alone = has_wildcards(spec) ? FoundBy::pattern : FoundBy::name;
  std::vector<std::string> unreadable;
  for (const std::string& path : expand_shard_spec(spec, &unreadable)) {
    if (take_packed(path)) continue;
    const std::vector<std::string> shards = shards_at(path);
    if (is_directory(path) || shards != std::vector{path}) {  // of this machine, or listed by a server
      require_outside_cache(path);
      resolved.parts.push_back({.path = path, .shards = shards, .found_by = FoundBy::directory});
    } else if (const std::string directory = parent_directory(path); !resolved.parts.empty() &&
                                                                     resolved.parts.back().path == directory &&
                                                                     resolved.parts.back().manifest_path.empty()) {
      resolved.parts.back().shards.push_back(path);
    } else {
      require_outside_cache(path);
      resolved.parts.push_back({.path = directory, .shards = {path}, .found_by = alone});
    }
  }
  resolved.parts.front().of_pattern = odd_matches(spec, resolved.parts, unreadable);
  return resolved;
}

}  // namespace

Manifest DatasetPart::load() const {
  try {
    Manifest manifest = load_manifest(manifest_path);
    if (version.empty() || version_id(manifest) == version) return manifest;
  } catch (const Error& error) {
    if (version.empty() || error.code() != ErrorCode::removed) throw;
    // A version that is gone may be the current one again.
    Manifest current = load_manifest(join_name(directory, k_manifest_name));
    if (version_id(current) == version) return current;
    throw;
  }
  // It was replaced since the spec was resolved, and is kept.
  return load_manifest(join_name(directory, kept_version(version)));
}

std::vector<std::string> DatasetPart::paths_of(const Manifest& manifest) const {
  std::set<std::string> moved;  // shards that the current version does not have
  if (!is_newest()) {
    for (const ManifestShard& shard : manifest.shards) moved.insert(shard.file);
    for (const ManifestShard& shard : load_manifest(join_name(directory, k_manifest_name)).shards)
      moved.erase(shard.file);
  }
  std::vector<std::string> paths;
  for (const ManifestShard& shard : manifest.shards) {
    const std::string beside = join_name(directory, shard.file);
    const bool is_moved = moved.contains(shard.file);
    const bool is_remote = is_moved && remote_storage_of(beside) != nullptr;
    paths.push_back(is_remote  ? join_name(join_name(directory, k_versions_name), shard.file)
                    : is_moved ? place_of_shard(beside)  // a run that moves it may not have ended
                               : beside);
  }
  return paths;
}

NoticeLog DatasetPart::missed() const {
  NoticeLog log = of_pattern;
  if (has_lost_layers(path))
    log.add(join_path(path, k_layers_name), "what was removed or changed after packing; manifest.json is missing");
  if (found_by == FoundBy::name) return log;
  if (found_by == FoundBy::directory) log.merge(not_read_beside(shards, path), {});
  log.merge(odd_shard_names(shards), path);
  return log;
}

DatasetSpec resolve_dataset(const std::string& spec) {
  require_named_outside_cache(spec);
  return resolve_parts(spec);
}

}  // namespace bale
