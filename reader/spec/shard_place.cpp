#include "bale/reader/spec/shard_place.hpp"

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/reader/version.hpp"

namespace bale {
namespace {

/// Of the dataset that has or had a shard at `path`.
std::string directory_of(const std::string& path) {
  const std::string directory = parent_directory(path);
  return base_name(directory) == k_versions_name ? parent_directory(directory) : directory;
}

/// Empty if there is no file of this name.
std::string find_shard(const std::string& directory, const std::string& file) {
  for (const std::string& place : {directory, join_name(directory, k_versions_name)}) {
    if (std::string path = join_name(place, file); path_exists(path)) return path;
  }
  return {};
}

/// The shard that a manifest names by this digest; empty if there is none.
std::string find_content(const std::string& directory, const std::string& manifest, const std::string& digest) {
  const std::string path = join_name(directory, manifest);
  if (!path_exists(path)) return {};
  for (const ManifestShard& shard : load_manifest(path).shards) {
    if (shard.digest != digest) continue;
    if (std::string found = find_shard(directory, shard.file); !found.empty()) return found;
  }
  return {};
}

}  // namespace

std::string place_of_shard(const std::string& path, const std::string& digest) {
  if (path_exists(path)) return path;
  const std::string directory = directory_of(path);
  std::string found = find_shard(directory, base_name(path));
  if (!found.empty() || digest.empty()) return found.empty() ? path : found;
  found = find_content(directory, k_manifest_name, digest);
  if (found.empty() && remote_storage_of(directory) == nullptr) {
    for (const std::string& id : replaced_versions(directory)) {
      found = find_content(directory, kept_version(id), digest);
      if (!found.empty()) break;
    }
  }
  return found.empty() ? path : found;
}

bool is_replaced_since(const std::string& path, const FileStamp& read, const Manifest& manifest) {
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr) return FileStamp::of(path) != read;
  storage->cache().refresh(path);
  try {
    return !path_exists(path) || version_id(load_manifest(path)) != version_id(manifest);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged && error.code() != ErrorCode::removed) throw;
    return true;
  }
}

void require_kept(const std::string& path, const Manifest& manifest) {
  const std::string directory = directory_of(path);
  const std::string id = version_id(manifest);
  const std::string kept = join_name(directory, kept_version(id));
  const std::string current = join_name(directory, k_manifest_name);
  if (const Storage* const storage = remote_storage_of(kept)) {
    storage->cache().refresh(kept);
    storage->cache().refresh(current);  // whoever opens the dataset next gets the version that took its place
  }
  if (path_exists(kept)) {
    if (parse_gone_version(std::string(as_text(read_file(kept))))) load_manifest(kept);
    return;
  }
  if (!path_exists(current)) return;
  if (version_id(load_manifest(current)) != id) throw Error(changed_error(path));
}

}  // namespace bale
