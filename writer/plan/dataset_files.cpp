#include "bale/writer/plan/dataset_files.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/reader/version.hpp"

namespace bale {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_names(const Layout& layout, std::vector<std::string>& names) {
  for (const Sidecar& sidecar : layout.sidecars) {
    if (!sidecar.name.empty() && !contains(names, sidecar.name)) names.emplace_back(sidecar.name);
  }
  for (const ShardList& list : layout.lists) {
    if (!contains(names, list.name)) names.emplace_back(list.name);
  }
}

bool have_shards(const std::vector<const Manifest*>& manifests) {
  return std::any_of(manifests.begin(), manifests.end(), [](const Manifest* one) { return !one->shards.empty(); });
}

}  // namespace

std::vector<std::string> sidecars_in_all(const std::vector<const Manifest*>& manifests, const Layout& layout) {
  const auto shards_have = [&](const Sidecar& sidecar) {
    return std::all_of(manifests.begin(), manifests.end(), [&](const Manifest* manifest) {
      return std::all_of(manifest->shards.begin(), manifest->shards.end(), [&](const ManifestShard& shard) {
        return contains(shard.sidecars, sidecar_path(shard.file, layout, sidecar));
      });
    });
  };
  std::vector<std::string> names;
  for (const Sidecar& sidecar : layout.sidecars) {
    if (!sidecar.name.empty() && have_shards(manifests) && shards_have(sidecar)) names.emplace_back(sidecar.name);
  }
  for (const ShardList& list : layout.lists) {
    const bool all = std::all_of(manifests.begin(), manifests.end(),
                                 [&](const Manifest* manifest) { return contains(manifest->lists, list.file); });
    if (all && !contains(names, list.name)) names.emplace_back(list.name);
  }
  return names;
}

bool all_have_seek_points(const std::vector<const Manifest*>& manifests) {
  return have_shards(manifests) && std::all_of(manifests.begin(), manifests.end(), [](const Manifest* manifest) {
           return std::all_of(manifest->shards.begin(), manifest->shards.end(), [](const ManifestShard& shard) {
             return contains(shard.sidecars, seek_point_path(shard.file)) ||
                    contains(shard.sidecars, old_seek_point_path(shard.file));
           });
         });
}

std::string dataset_directory(const PackOptions& options, const PlannedDataset& dataset) {
  return dataset.subdirectory.empty() ? options.destination : join_path(options.destination, dataset.subdirectory);
}

std::string below_destination(const std::string& subdirectory, const std::string& file) {
  return subdirectory.empty() ? file : join_path(subdirectory, file);
}

std::vector<std::string> OldDataset::files() const {
  std::vector<std::string> files;
  const auto add = [&](const std::string& file) { files.push_back(below_destination(subdirectory, file)); };
  for (const ManifestShard& shard : manifest.shards) {
    add(shard.file);
    add(index_path(shard.file));
    for (const std::string& sidecar : shard.sidecars) add(sidecar);
  }
  for (const std::string& list : manifest.lists) add(list);
  if (manifest.num_skipped != 0) add(k_ledger_name);
  return files;
}

std::string text_to_keep(const std::string& directory, const std::string& id, const std::string& text) {
  const std::string path = join_path(directory, kept_version(id));
  if (!path_exists(path)) return text;
  std::string kept(as_text(read_file(path)));
  return parse_gone_version(kept) ? text : kept;
}

PackReport::Replaced report_of_replaced(const PackOptions& options, const OldDataset& old) {
  return {
      .directory = old.subdirectory.empty() ? options.destination : join_path(options.destination, old.subdirectory),
      .name = old.manifest.name,
      .num_samples = old.manifest.num_samples};
}

std::vector<std::string> files_of(const ManifestShard& shard) {
  std::vector<std::string> files{shard.file, index_path(shard.file), seek_point_path(shard.file),
                                 old_seek_point_path(shard.file)};
  for (const std::string& sidecar : shard.sidecars) {
    if (!contains(files, sidecar)) files.push_back(sidecar);
  }
  return files;
}

std::vector<std::string> files_of_shard(const std::string& file, const PackOptions& options) {
  const Layout& layout = *options.format.layout;
  std::vector<std::string> files{file, index_path(file), seek_point_path(file), old_seek_point_path(file)};
  for (const Sidecar& sidecar : sidecars_of(layout, options.sidecars)) {
    files.push_back(sidecar_path(file, layout, sidecar));
  }
  return files;
}

std::vector<std::string> list_files(const PackOptions& options, const Plan& plan) {
  std::vector<std::string> files;
  for (const PlannedDataset& dataset : plan.datasets) {
    for (const ShardList& list : lists_of(*options.format.layout, options.sidecars)) {
      files.push_back(below_destination(dataset.subdirectory, std::string(list.file)));
    }
  }
  return files;
}

std::vector<Sidecar> sidecars_of(const Layout& layout, const std::vector<std::string>& names) {
  std::vector<Sidecar> sidecars;
  std::copy_if(layout.sidecars.begin(), layout.sidecars.end(), std::back_inserter(sidecars),
               [&](const Sidecar& sidecar) { return sidecar.always || contains(names, sidecar.name); });
  return sidecars;
}

std::vector<ShardList> lists_of(const Layout& layout, const std::vector<std::string>& names) {
  std::vector<ShardList> lists;
  std::copy_if(layout.lists.begin(), layout.lists.end(), std::back_inserter(lists),
               [&](const ShardList& list) { return contains(names, list.name); });
  return lists;
}

void check_sidecars(const FormatAndLayout& format, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  add_names(*format.layout, known);
  for (const std::string& name : names) {
    if (contains(known, name)) continue;
    const std::string has = known.empty() ? "it has none" : fmt::format("it has: {}", joined(known));
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}.{} has no sidecar \"{}\"", format.format->name, format.layout->name, printable(name)),
                {.hint = has});
  }
}

std::string sidecar_choices() {
  std::vector<std::string> names;
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) add_names(layout, names);
  }
  return joined(names);
}

}  // namespace bale
