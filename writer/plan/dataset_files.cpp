#include "bale/writer/plan/dataset_files.hpp"

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/plan/sidecars.hpp"

namespace bale {

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

PackReport::Replaced report_of_replaced(const PackOptions& options, const OldDataset& old) {
  return {
      .directory = old.subdirectory.empty() ? options.destination : join_path(options.destination, old.subdirectory),
      .name = old.manifest.name,
      .num_samples = old.manifest.num_samples};
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

}  // namespace bale
