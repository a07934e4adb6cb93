#include "bale/writer/destination.hpp"

#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/dataset_files.hpp"
#include "bale/writer/writer_parts.hpp"

namespace bale {
namespace {

/// The datasets in the directories of the planned ones. A directory that is a symbolic link is refused, not followed.
std::vector<OldDataset> old_datasets(const PackOptions& options, const Plan& plan, DirectoryTree& tree) {
  std::vector<OldDataset> found;
  for (const PlannedDataset& planned : plan.datasets) {
    if (!tree.holds(below_destination(planned.subdirectory, k_manifest_name))) continue;
    found.push_back(
        {planned.subdirectory, load_manifest(join_path(dataset_directory(options, planned), k_manifest_name))});
    check_dataset_name(options, planned, found.back().manifest);
  }
  return found;
}

/// Throws `exists` if a file that bale did not write has the name of one that this run will write.
void require_way_is_free(const PackOptions& options, const Plan& plan, const std::vector<std::string>& ours,
                         DirectoryTree& tree) {
  const std::unordered_set<std::string> known(ours.begin(), ours.end());
  const auto check = [&](const std::string& file) {
    if (!tree.holds(file) || known.contains(file)) return;
    throw Error(ErrorCode::exists, "is in the way and was not written by bale",
                {.path = join_path(options.destination, file), .hint = "move it, or choose another `name`"});
  };
  for (const PlannedDataset& dataset : plan.datasets) {
    for (const PlannedShard& shard : dataset.shards) {
      for (const std::string& file : files_of_shard(below_destination(dataset.subdirectory, shard.file), options)) check(file);
    }
  }
  for (const std::string& file : list_files(options, plan)) check(file);
}

std::vector<std::string> files_of_all(const std::vector<OldDataset>& datasets) {
  std::vector<std::string> files;
  for (const OldDataset& dataset : datasets) {
    const std::vector<std::string> more = dataset.files();
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

/// Whether the run publishes all shards at the end, even if no older dataset is in their place: because only then it is
/// known which files of others are in the way, or how the shards are named.
bool stages_all(const PackOptions& options, const Plan& plan) {
  return plan.open && (options.mode == DestinationMode::overwrite || options.format.layout->counted);
}

/// Starts a run that overwrites. An older dataset stays; files that an unfinished run published are removed.
void overwrite(const PackOptions& options, const Plan& plan, Journal& journal) {
  DirectoryTree tree(Directory::open(options.destination));
  const std::vector<OldDataset> old = old_datasets(options, plan, tree);
  std::vector<std::string> known = files_of_all(old);
  const std::unordered_set<std::string> whole(known.begin(), known.end());
  std::vector<std::string> unfinished = journal.content().published_files();
  known.insert(known.end(), unfinished.begin(), unfinished.end());
  require_way_is_free(options, plan, known, tree);
  std::erase_if(unfinished, [&](const std::string& file) { return whole.contains(file); });
  if (!unfinished.empty()) try_format_options(options, journal);
  for (const std::string& file : unfinished) tree.remove(file);
  tree.sync();
  journal.begin(plan.fingerprint, list_files(options, plan), !old.empty() || stages_all(options, plan));
}

/// Continues the unfinished run, or repairs the finished one and returns its manifests.
std::vector<Manifest> resume(const PackOptions& options, const Plan& plan, Journal& journal) {
  std::vector<Manifest> finished = finished_manifests(options, plan);
  if (!journal.is_unfinished()) {
    if (finished.empty()) require_empty(options, plan);
    journal.begin(plan.fingerprint, list_files(options, plan), stages_all(options, plan));
    return finished;
  }
  if (journal.content().plan != plan.fingerprint) {
    throw Error(ErrorCode::exists, "holds an unfinished pack of other files or options",
                {.path = options.destination,
                 .hint = "resume with the same source and options, or start again with `overwrite`"});
  }
  journal.go_on(plan.open);
  // The manifests next to a staged run are those of the dataset that it replaces.
  if (journal.content().staged) finished.clear();
  return finished;
}

void make_subdirectories(const Plan& plan, const Journal& journal) {
  for (const PlannedDataset& dataset : plan.datasets) {
    if (!dataset.subdirectory.empty()) journal.destination().make(dataset.subdirectory);
  }
}

/// Names of directories in the destination that hold datasets of other runs.
std::vector<std::string> other_datasets(const std::string& destination, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found), [&](const std::string& name) {
    return name_is_taken(join_path(join_path(destination, name), k_manifest_name));
  });
  return found;
}

}  // namespace

std::vector<Manifest> finished_manifests(const PackOptions& options, const Plan& plan) {
  std::vector<Manifest> manifests;
  for (const PlannedDataset& dataset : plan.datasets) {
    const std::string path = join_path(dataset_directory(options, dataset), k_manifest_name);
    if (!name_is_taken(path)) return {};
    manifests.push_back(load_manifest(path));
    if (manifests.back().plan != plan.fingerprint) return {};
  }
  return manifests;
}

void require_empty(const PackOptions& options, const Plan& plan) {
  if (!plan.beside_parts) refuse_writer_parts(options.destination);
  if (options.mode == DestinationMode::overwrite || !name_is_taken(options.destination)) return;
  std::vector<std::string> names = Directory::open(options.destination).names();
  std::erase_if(names, [](const std::string& name) {
    return name == k_partial_name || name == k_removed_name || name == k_writer_parts_name;
  });
  if (names.empty()) return;
  for (const PlannedDataset& dataset : plan.datasets) {
    if (!name_is_taken(join_path(dataset_directory(options, dataset), k_manifest_name))) continue;
    throw Error(ErrorCode::exists, "is not empty: it holds a packed dataset",
                {.path = dataset_directory(options, dataset),
                 .hint = "choose another directory, or replace that dataset with `overwrite`"});
  }
  const std::vector<std::string> others = other_datasets(options.destination, names);
  if (!others.empty()) {
    throw Error(ErrorCode::exists, "is not empty: it holds other packed datasets",
                {.path = options.destination,
                 .hint = fmt::format("choose a directory of its own, such as {}",
                                     printable(join_path(options.destination, plan.datasets.front().name)))});
  }
  throw Error(
      ErrorCode::exists, "is not empty",
      {.path = options.destination, .hint = "choose another directory; `overwrite` would pack beside what is there"});
}

void try_format_options(const PackOptions& options, const Journal& journal) {
  const std::string path = journal.staged_path("options");
  const auto writer = options.format.format->create(
      {.path = path, .layout = options.format.layout->name, .plan = {}, .format_options = options.format_options});
  ::unlink(path.c_str());
}

Destination prepare_destination(const PackOptions& options, const Plan& plan) {
  Journal journal = Journal::open(options.destination);
  bool was_unfinished = journal.is_unfinished();
  try {
    if (journal.is_unfinished() && options.mode == DestinationMode::fresh) {
      throw Error(ErrorCode::exists, "holds an unfinished pack",
                  {.path = options.destination, .hint = "go on with `resume`, or start again with `overwrite`"});
    }
    if (journal.content().replacement) {
      journal.finish_replacement();
      was_unfinished = false;
    }
    std::vector<Manifest> finished;
    if (options.mode == DestinationMode::overwrite) {
      overwrite(options, plan, journal);
    } else if (options.mode == DestinationMode::resume) {
      finished = resume(options, plan, journal);
    } else {
      require_empty(options, plan);
      journal.begin(plan.fingerprint, list_files(options, plan), stages_all(options, plan));
    }
    make_subdirectories(plan, journal);
    return {std::move(journal), std::move(finished)};
  } catch (...) {
    if (!was_unfinished) {
      journal.remove();
      ::rmdir(options.destination.c_str());
    }
    throw;
  }
}

PlannedReplacement plan_replacement(const PackOptions& options, const Plan& plan,
                                    const std::vector<Replacement::Move>& files,
                                    const std::vector<Replacement::Move>& manifests) {
  DirectoryTree tree(Directory::open(options.destination));
  const std::vector<OldDataset> old = old_datasets(options, plan, tree);
  require_way_is_free(options, plan, files_of_all(old), tree);
  PlannedReplacement planned{.replacement = {.files = files, .manifests = manifests}};
  std::unordered_set<std::string> taken;
  for (const auto& [staged, path] : files) taken.insert(path);
  for (const OldDataset& dataset : old) {
    planned.replacement.old_manifests.push_back(below_destination(dataset.subdirectory, k_manifest_name));
    for (std::string& file : dataset.files()) {
      if (!taken.contains(file)) planned.replacement.old_files.push_back(std::move(file));
    }
    planned.replaced.push_back({.directory = dataset.subdirectory.empty()
                                                 ? options.destination
                                                 : join_path(options.destination, dataset.subdirectory),
                                .name = dataset.manifest.name,
                                .num_samples = dataset.manifest.num_samples});
  }
  return planned;
}

void abandon_destination(Journal& journal, const PackOptions& options, const Plan& plan) {
  for (const PlannedDataset& dataset : plan.datasets) {
    if (!dataset.subdirectory.empty()) journal.destination().remove_directory(dataset.subdirectory);
  }
  journal.remove();
  ::rmdir(options.destination.c_str());  // fails, as intended, if anything is left
}

}  // namespace bale
