#include "bale/writer/index/add_indexes.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/plan/dataset_files.hpp"

namespace bale {
namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// The layout of a dataset's shards: from its manifest, else the layout whose shard names match the first shard.
FormatAndLayout layout_of(const Dataset& dataset) {
  if (const auto& manifest = dataset.manifest()) return find_format(manifest->format, manifest->layout);
  const Format& format = dataset.shard(0)->format();
  if (format.layouts.empty()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("shards of {} have no files for other readers", format.name),
                {.path = dataset.shard_path(0), .hint = "leave `sidecars` out"});
  }
  const std::string file = base_name(dataset.shard_path(0));
  const auto called_so = [&](const Layout& layout) { return has_shard_name(layout, file); };
  const auto layout = std::find_if(format.layouts.begin(), format.layouts.end(), called_so);
  return {&format, layout != format.layouts.end() ? &*layout : &format.layouts.front()};
}

/// The dataset's name in files that list its shards: from its manifest, else its directory's name.
std::string name_of(const Dataset& dataset) {
  if (const auto& manifest = dataset.manifest()) return manifest->name;
  return base_name(parent_directory(std::filesystem::absolute(dataset.shard_path(0)).string()));
}

/// Throws `exists` if there is a file with other content.
void check_free(const std::string& path, const std::string& text) {
  if (!path_exists(path) || as_text(read_file(path)) == text) return;
  throw Error(ErrorCode::exists, "is there already and says something else",
              {.path = path, .hint = "replace it with `force`, or move it"});
}

}  // namespace

void require_no_layers(const Dataset& dataset) {
  if (dataset.num_shards() == 0 || !dataset.layers(0)) return;
  throw Error(ErrorCode::unsupported,
              "files next to its shards would not fit: samples are removed, or have other labels",
              {.path = parent_directory(dataset.shard_path(0)), .hint = "run `bale rewrite` first"});
}

void check_sidecars(const Dataset& dataset, const std::vector<std::string>& names) {
  if (!names.empty() && dataset.num_shards() != 0) check_sidecars(layout_of(dataset), names);
}

std::uint64_t add_sidecars(const Dataset& dataset, const std::vector<std::string>& names, bool replace) {
  if (dataset.num_shards() == 0) return 0;
  require_no_layers(dataset);
  const FormatAndLayout made = layout_of(dataset);
  check_sidecars(made, names);
  const std::string directory = parent_directory(dataset.shard_path(0));
  std::optional<Manifest> manifest = dataset.manifest();
  std::vector<StagedFile> files;
  const auto add = [&](const std::string& path, const std::string& text) {
    if (!replace) check_free(path, text);
    files.emplace_back(path, as_bytes(text));
  };
  std::vector<ListedShard> listed;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const std::string& path = dataset.shard_path(number);
    if (parent_directory(path) != directory) {
      throw Error(ErrorCode::invalid_argument, "shards of one list must lie in one directory", {.path = path});
    }
    const IndexInUse held = dataset.use_index(number);
    const ShardIndex& index = *held;
    listed.push_back({base_name(path), index.size(), index.shard_bytes()});
    for (const Sidecar& sidecar : sidecars_of(*made.layout, names)) {
      if (sidecar.name.empty()) continue;
      const std::string beside = sidecar_path(path, *made.layout, sidecar);
      add(beside, sidecar.text(path, index));
      if (manifest) add_once(manifest->shards[number].sidecars, base_name(beside));
    }
  }
  for (const ShardList& list : lists_of(*made.layout, names)) {
    const std::string name(list.file);
    add(join_path(directory, name), list.text(name_of(dataset), listed));
    if (manifest) add_once(manifest->lists, name);
  }
  // The manifest comes first: it may name a missing file, but a file that it does not name belongs to no dataset.
  if (manifest) publish_file(join_path(directory, k_manifest_name), as_bytes(manifest_text(*manifest)));
  for (StagedFile& file : files) file.publish(dataset.shard_path(0));
  return files.size();
}

}  // namespace bale
