#include "bale/writer/add_indexes.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "bale/formats/base/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/parallel.hpp"
#include "bale/formats/base/temporary_file.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset_spec.hpp"

namespace bale {
namespace {

struct IndexPlan {
  std::set<std::string> directories{};  // of all shards
  std::vector<std::string> paths{};     // shards to index
  std::uint64_t num_present = 0;
};

/// The checksums of shards with a manifest were made when the shards were written. They are never replaced by checksums
/// of the current files.
void plan_part(const DatasetPart& part, bool replace, IndexPlan& plan) {
  std::vector<std::string> paths = part.shards;
  const bool has_manifest = !part.manifest_path.empty();
  if (has_manifest) {
    for (const ManifestShard& shard : load_manifest(part.manifest_path).shards) {
      paths.push_back(join_path(parent_directory(part.manifest_path), shard.file));
    }
  }
  for (const std::string& path : paths) {
    plan.directories.insert(parent_directory(path));
    const bool indexed = path_exists(index_path(path));
    if (!indexed || (replace && !has_manifest)) {
      plan.paths.push_back(path);
    } else if (has_current_index(path)) {
      ++plan.num_present;
    } else if (!has_manifest) {
      plan.paths.push_back(path);
    } else {
      throw Error(
          ErrorCode::changed, "the file was changed after it was packed",
          {.path = path, .hint = "copy it again; if the change was wanted, remove manifest.json and run `bale index`"});
    }
  }
}

std::uint64_t bytes_of(const std::vector<std::string>& paths) {
  std::uint64_t total = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) total += size;
  }
  return total;
}

}  // namespace

AddedIndexes add_indexes(const std::string& spec, const IndexingOptions& options, Progress& progress) {
  IndexPlan plan;
  for (const DatasetPart& part : resolve_dataset(spec).parts) plan_part(part, options.replace, plan);
  AddedIndexes added{.num_present = plan.num_present};
  for (const std::string& directory : plan.directories) {
    const std::uint64_t removed = remove_stale_temporaries(directory);
    if (removed != 0 && options.on_removed_temporaries) options.on_removed_temporaries(directory, removed);
  }
  const std::vector<std::string>& paths = plan.paths;
  progress.total_bytes = bytes_of(paths);
  progress.total_shards = paths.size();
  const LookAtImage look = [&](Bytes image) {
    const ImageFacts facts = check_image(image, options.check, options.max_pixels);
    return ImageEntry{.width = facts.width, .height = facts.height, .condition = facts.condition};
  };
  std::vector<NoticeLog> notices(paths.size());
  std::vector<std::optional<Error>> failures(paths.size());
  run_parallel(paths.size(), options.jobs, [&](std::size_t number) {
    const auto on_progress = [&](std::uint64_t read) {
      progress.throw_if_stopped();
      progress.bytes += read;
      ++progress.samples;
    };
    std::vector<std::byte> index;
    try {
      index = index_shard(paths[number], probe_format(paths[number]), look, on_progress, notices[number]);
    } catch (const Error& error) {
      if (paths.size() == 1 || !concerns_one_file(error)) throw;
      failures[number] = error;
      return;
    }
    publish_file(index_path(paths[number]), index);
    ++progress.shards;
  });
  for (const NoticeLog& of_shard : notices) added.notices.merge(of_shard, "");
  for (std::size_t number = 0; number < paths.size(); ++number) {
    if (failures[number]) added.failures.push_back({paths[number], *failures[number]});
  }
  added.num_added = paths.size() - added.failures.size();
  return added;
}

}  // namespace bale
