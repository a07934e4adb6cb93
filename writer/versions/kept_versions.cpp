#include "bale/writer/versions/kept_versions.hpp"

#include <sys/stat.h>

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/removal_list.hpp"

namespace bale {

void require_removable_shards(const std::string& directory) {
  if (!is_object_store(directory)) return;
  throw Error(
      ErrorCode::unsupported, "shards of versions in an object store are not removed or written again",
      {.path = directory, .hint = "`bale convert` writes a version to another prefix, without what was removed"});
}

std::vector<KeptVersion> kept_versions(const std::string& directory) {
  std::vector<KeptVersion> kept;
  for (const std::string& id : replaced_versions(directory)) {
    const std::string path = join_path(directory, kept_version(id));
    KeptVersion version{.id = id, .manifest = load_manifest(path)};
    if (version_id(version.manifest) != id) {
      throw Error(ErrorCode::damaged, fmt::format("is the manifest of version {}", version_id(version.manifest)),
                  {.path = path, .hint = "copy the whole dataset again"});
    }
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) throw_errno("look at", path);
    version.replaced_at = info.st_mtime;
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

std::vector<std::string> paths_of(const std::string& file, DirectoryTree& tree) {
  std::vector<std::string> paths{file};
  if (file.find('/') == std::string::npos) paths.push_back(join_path(std::string(k_versions_name), file));
  std::erase_if(paths, [&](const std::string& path) { return !tree.holds(path); });
  return paths;
}

void remove_versions(Journal& journal, const std::vector<GoneVersion>& gone, std::vector<std::string> files) {
  journal.begin({.staged = true}, {});
  Replacement replacement{.old_files = std::move(files)};
  for (const GoneVersion& version : gone) {
    write_durably(journal.staged_path(version.id), as_bytes(gone_version_text(version)));
    replacement.old_manifests.push_back(kept_version(version.id));
    replacement.manifests.emplace_back(Journal::staged_name(version.id), kept_version(version.id));
  }
  journal.record(replacement);
  journal.finish_replacement();
}

}  // namespace bale
