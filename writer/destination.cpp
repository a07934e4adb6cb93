#include "bale/writer/destination.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <unordered_set>

#include "bale/formats/core/entry_file.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/formats/core/shard_index.hpp"
#include "bale/formats/core/shard_name.hpp"
#include "bale/writer/sidecars.hpp"

namespace bale {
namespace {

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    names.push_back(entry.path().filename().string());
  }
  if (error) throw Error(ErrorCode::io, "cannot list the directory: " + error.message(), {.path = directory});
  std::sort(names.begin(), names.end());
  return names;
}

/// mkdir -p whose new entries are durable.
void make_directories(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) {
    sync_directory(parent_directory(path));
    return;
  }
  if (errno == ENOENT) {
    make_directories(parent_directory(path));
    if (::mkdir(path.c_str(), 0755) == 0) {
      sync_directory(parent_directory(path));
      return;
    }
  }
  struct stat info {};
  if (errno == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return;
  throw_errno("create the directory", path);
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_errno("remove", path);
}

/// What a finished dataset of ours consists of, besides its manifest.
std::vector<std::string> files_of_dataset(const std::string& directory) {
  const Manifest manifest = load_manifest(join_path(directory, k_manifest_name));
  std::vector<std::string> files;
  for (const ManifestShard& shard : manifest.shards) {
    files.push_back(join_path(directory, shard.file));
    files.push_back(index_path(files.back()));
    for (const std::string& sidecar : shard.sidecars) files.push_back(join_path(directory, sidecar));
  }
  for (const std::string& list : manifest.lists) files.push_back(join_path(directory, list));
  if (manifest.num_skipped != 0) files.push_back(join_path(directory, k_ledger_name));
  return files;
}

/// Directories at the destination that hold a finished dataset: itself, or one a split.
std::vector<std::string> finished_datasets(const std::string& destination) {
  std::vector<std::string> directories{destination};
  for (const std::string& name : entries_of(destination)) directories.push_back(join_path(destination, name));
  std::erase_if(directories,
                [](const std::string& directory) { return !exists(join_path(directory, k_manifest_name)); });
  return directories;
}

/// Everything that packing a shard to `path` publishes, and entry points in any case: others would be taken for its
/// own.
std::vector<std::string> files_of_shard(const std::string& path, const PackOptions& options) {
  const Layout& layout = *options.format.layout;
  std::vector<std::string> files{path, index_path(path), entry_path(path)};
  for (const Sidecar& sidecar : sidecars_of(layout, options.sidecars)) {
    files.push_back(sidecar_path(path, layout, sidecar));
  }
  return files;
}

/// Files that list the shards, relative to the destination.
std::vector<std::string> list_files(const PackOptions& options, const Plan& plan) {
  std::vector<std::string> files;
  for (const PlannedDataset& dataset : plan.datasets) {
    for (const ShardList& list : lists_of(*options.format.layout, options.sidecars)) {
      const std::string file(list.file);
      files.push_back(dataset.subdirectory.empty() ? file : join_path(dataset.subdirectory, file));
    }
  }
  return files;
}

/// Refuses strangers' files where this run's are to be.
void require_way_is_free(const PackOptions& options, const Plan& plan, const std::vector<std::string>& ours) {
  const std::unordered_set<std::string> known(ours.begin(), ours.end());
  const auto check = [&](const std::string& file) {
    if (!exists(file) || known.contains(file)) return;
    throw Error(ErrorCode::exists, "is in the way and was not written by bale",
                {.path = file, .hint = "move it, or choose another --name"});
  };
  for (const PlannedDataset& dataset : plan.datasets) {
    const std::string directory = dataset_directory(options, dataset);
    for (const PlannedShard& shard : dataset.shards) {
      for (const std::string& file : files_of_shard(join_path(directory, shard.file), options)) check(file);
    }
  }
  for (const std::string& file : list_files(options, plan)) check(join_path(options.destination, file));
}

void remove_previous_run(const PackOptions& options, const Plan& plan) {
  const std::string& destination = options.destination;
  const File lock = Journal::lock_unfinished(destination);
  const std::vector<std::string> datasets = finished_datasets(destination);
  std::vector<std::string> files;
  for (const std::string& directory : datasets) {
    const std::vector<std::string> more = files_of_dataset(directory);
    files.insert(files.end(), more.begin(), more.end());
  }
  if (Journal::present(destination)) {
    for (const std::string& file : Journal::published_files(destination)) files.push_back(join_path(destination, file));
  }
  require_way_is_free(options, plan, files);

  // Manifests first, so that at no time one names missing shards.
  for (const std::string& directory : datasets) {
    remove_file(join_path(directory, k_manifest_name));
    sync_directory(directory);
  }
  for (const std::string& file : files) remove_file(file);
  if (Journal::present(destination)) Journal::remove(destination);
}

bool is_finished(const PackOptions& options, const Plan& plan) {
  return std::all_of(plan.datasets.begin(), plan.datasets.end(), [&](const PlannedDataset& dataset) {
    const std::string path = join_path(dataset_directory(options, dataset), k_manifest_name);
    return exists(path) && load_manifest(path).plan == plan.fingerprint;
  });
}

}  // namespace

std::string dataset_directory(const PackOptions& options, const PlannedDataset& dataset) {
  return dataset.subdirectory.empty() ? options.destination : join_path(options.destination, dataset.subdirectory);
}

std::optional<Journal> prepare_destination(const PackOptions& options, const Plan& plan) {
  const std::string& destination = options.destination;
  make_directories(destination);
  const bool unfinished = Journal::present(destination);
  if (options.mode == DestinationMode::overwrite) {
    remove_previous_run(options, plan);
  } else if (options.mode == DestinationMode::resume && unfinished) {
    return Journal::resume(destination, plan.fingerprint, list_files(options, plan));
  } else if (!entries_of(destination).empty()) {
    if (options.mode == DestinationMode::resume && is_finished(options, plan)) return std::nullopt;
    throw Error(ErrorCode::exists, unfinished ? "holds an unfinished pack" : "is not empty",
                {.path = destination,
                 .hint = unfinished ? "go on with --resume, or start afresh with --overwrite"
                                    : "choose another directory, or replace an earlier pack with --overwrite"});
  }
  for (const PlannedDataset& dataset : plan.datasets) make_directories(dataset_directory(options, dataset));
  return Journal::start(destination, plan.fingerprint, list_files(options, plan));
}

void abandon_destination(const PackOptions& options, const Plan& plan) {
  Journal::remove(options.destination);
  for (const PlannedDataset& dataset : plan.datasets) {
    if (!dataset.subdirectory.empty()) ::rmdir(dataset_directory(options, dataset).c_str());
  }
  ::rmdir(options.destination.c_str());  // fails, as it should, where anything is left
}

}  // namespace bale
