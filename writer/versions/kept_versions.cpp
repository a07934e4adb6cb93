#include "bale/writer/versions/kept_versions.hpp"

#include <sys/stat.h>

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/run/objects/object_manifest.hpp"

namespace bale {

HeldFiles::HeldFiles(const std::string& directory) : directory_(directory) {
  if (!is_object_store(directory)) {
    tree_.emplace(Directory::open(directory));
    return;
  }
  for (StoredObject& object : ObjectStore::open(directory)->list()) {
    std::string key = object.key;
    // What readers of this process know of them may be older than the listing.
    if (parent_directory(key) == k_versions_name) forget_version(join_path(directory, key));
    objects_.emplace(std::move(key), std::move(object));
  }
}

bool HeldFiles::holds(const std::string& path) { return tree_ ? tree_->holds(path) : objects_.contains(path); }

std::uint64_t HeldFiles::size_of(const std::string& path) const {
  if (tree_) return file_size(join_path(directory_, path)).value_or(0);
  const auto found = objects_.find(path);
  return found == objects_.end() ? 0 : found->second.size;
}

std::time_t HeldFiles::time_of(const std::string& path) const {
  if (!tree_) {
    const auto found = objects_.find(path);
    return found == objects_.end() ? std::time(nullptr) : found->second.modified;
  }
  struct stat info {};
  const std::string name = join_path(directory_, path);
  if (::stat(name.c_str(), &info) != 0) throw_errno("look at", name);
  return info.st_mtime;
}

std::vector<std::string> HeldFiles::paths_of(const std::string& file) {
  std::vector<std::string> paths{file};
  if (file.find('/') == std::string::npos) paths.push_back(join_path(std::string(k_versions_name), file));
  std::erase_if(paths, [&](const std::string& path) { return !holds(path); });
  return paths;
}

std::vector<std::string> HeldFiles::layers_beside(const std::set<std::string>& needed, std::time_t time) const {
  std::vector<std::string> layers;
  for (const auto& [key, object] : objects_) {
    if (parent_directory(key) == k_layers_name && object.modified < time && !needed.contains(key))
      layers.push_back(key);
  }
  return layers;
}

std::vector<KeptVersion> kept_versions(const HeldFiles& files) {
  std::vector<KeptVersion> kept;
  for (const std::string& id : replaced_versions(files.directory())) {
    const std::string path = join_path(files.directory(), kept_version(id));
    KeptVersion version{.id = id, .manifest = load_manifest(path), .replaced_at = files.time_of(kept_version(id))};
    if (version_id(version.manifest) != id) {
      throw Error(ErrorCode::damaged, fmt::format("is the manifest of version {}", version_id(version.manifest)),
                  {.path = path, .hint = "copy the whole dataset again"});
    }
    kept.push_back(std::move(version));
  }
  return kept;
}

void add_files(const ManifestShard& shard, std::set<std::string>& files) {
  for (std::string& file : files_of(shard)) files.insert(std::move(file));
}

void add_files(const Manifest& manifest, std::set<std::string>& files) {
  for (const ManifestShard& shard : manifest.shards) add_files(shard, files);
  for (const ManifestLayer& layer : manifest.layers) files.insert(layer_name(layer.digest));
  for (const ManifestRemovals& removals : manifest.removals) files.insert(removal_list_name(removals.digest));
}

}  // namespace bale
