#include "bale/writer/publish/run_decision.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/held_datasets.hpp"
#include "bale/writer/publish/run_store.hpp"
#include "bale/writer/publish/writer_parts.hpp"

namespace bale {
namespace {

/// What the destination holds. A directory of a planned dataset that is a symbolic link is refused, not followed.
HeldDatasets held_in(const PackOptions& options, const Plan& plan) {
  const std::string& destination = options.destination;
  HeldDatasets held{.destination = destination,
                    .load =
                        [destination](const std::string& place) {
                          return load_manifest(join_path(destination, below_destination(place, k_manifest_name)));
                        },
                    .replaced_versions =
                        [destination](const std::string& place) {
                          return replaced_versions(place.empty() ? destination : join_path(destination, place));
                        }};
  if (!name_is_taken(destination)) return held;
  DirectoryTree tree(Directory::open(destination));
  held.names = tree.root().names();
  std::erase_if(held.names, [](const std::string& name) {
    return name == k_partial_name || name == k_removed_name || name == k_writer_parts_name;
  });
  for (const PlannedDataset& planned : plan.datasets)
    tree.holds(below_destination(planned.subdirectory, k_manifest_name));
  if (tree.root().holds(k_manifest_name)) held.places.emplace_back();
  for (const std::string& name : held.names) {
    if (name_is_taken(join_path(join_path(destination, name), k_manifest_name))) held.places.push_back(name);
  }
  return held;
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
      for (const std::string& file : files_of_shard(below_destination(dataset.subdirectory, shard.file), options))
        check(file);
    }
  }
  for (const std::string& file : list_files(options, plan)) check(file);
}

/// Throws `retryable` if the dataset is no longer the version that the plan was made for.
void require_base(const PackOptions& options, const Plan& plan) {
  const Manifest current = load_manifest(join_path(options.destination, k_manifest_name));
  if (version_id(current) != plan.base->id) throw other_version_published(options.destination, current, plan.base->id);
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

/// The published files of an unfinished run that are not of a finished dataset.
std::vector<std::string> removed_by_overwriting(const std::vector<OldDataset>& old, const JournalContent& unfinished) {
  std::vector<std::string> files = unfinished.published_files();
  const std::vector<std::string> whole = files_of_all(old);
  const std::unordered_set<std::string> kept(whole.begin(), whole.end());
  std::erase_if(files, [&](const std::string& file) { return kept.contains(file); });
  return files;
}

/// The keys in the indexes of a finished dataset.
ListSamples samples_in(const std::string& directory, const Manifest& manifest) {
  return [&](const SampleVisitor& visit) {
    for (const ManifestShard& shard : manifest.shards) {
      const ShardIndex index = ShardIndex::load(index_path(join_path(directory, shard.file)));
      for (std::uint64_t i = 0; i < index.size(); ++i) visit(index.key(i), k_unknown_content);
    }
  };
}

/// Throws `exists` for a destination that holds no run to resume: with what changed, if it holds a finished dataset.
void refuse_to_resume(const PackOptions& options, const Plan& plan, const ListSamples& samples,
                      const HeldDatasets& held) {
  if (plan.datasets.size() != 1 || !held.has({}) || !plan.datasets.front().subdirectory.empty()) {
    return require_empty(plan, held);
  }
  const Manifest manifest = held.load({});
  PlanFacts after = plan.facts;
  const PlanFacts before = facts_of_manifest(manifest, options, after);
  std::string changes;
  try {
    changes = describe_changes(before, samples_in(options.destination, manifest), after, samples);
  } catch (const Error& error) {
    if (is_lack_of_resources(error) || error.code() == ErrorCode::interrupted) throw;
  }
  refuse_other_plan(options.destination, "is not empty: it holds a packed dataset of other files or options", changes,
                    "choose another directory, or replace that dataset with `overwrite`");
}

/// What a run does with what it found.
struct Decision {
  std::vector<OldDataset> old{};          // replaced at the end
  std::vector<std::string> unfinished{};  // files of an unfinished run, which go at once
  std::vector<Manifest> finished{};       // of this plan
  bool resumes = false;                   // the unfinished run
  std::string stay{};                     // which datasets stay next to it; may be empty
};

/// The same of a run that adds to a dataset. What it keeps is staged, and no one reads it.
Decision decide_to_add(const PackOptions& options, const Plan& plan, const ListSamples& samples,
                       const JournalContent& journal) {
  const bool is_unfinished = journal.good_bytes != 0;
  const bool is_other = is_unfinished && journal.facts.contains("verb") != plan.rewritten.has_value();
  if (is_unfinished &&
      (options.mode == DestinationMode::fresh || (is_other && options.mode == DestinationMode::resume))) {
    throw unfinished_run(options.destination, journal);
  }
  require_base(options, plan);
  if (is_unfinished && options.mode == DestinationMode::resume && journal.plan != plan.fingerprint) {
    refuse_other_plan(options.destination, "holds an unfinished run of other files or options",
                      describe_changes(journal.facts, Journal::kept_samples(options.destination), plan.facts, samples),
                      "resume with the same source and options, or drop it with `restart`");
  }
  DirectoryTree tree(Directory::open(options.destination));
  require_way_is_free(options, plan, OldDataset{{}, plan.base->manifest}.files(), tree);
  return {.resumes = is_unfinished && options.mode == DestinationMode::resume};
}

/// The one place that says whether a run may write to its destination. Throws if it may not. Changes nothing.
Decision decide(const PackOptions& options, const Plan& plan, const ListSamples& samples,
                const JournalContent& journal) {
  if (!plan.beside_parts) refuse_writer_parts(options.destination);
  if (plan.base) return decide_to_add(options, plan, samples, journal);
  const bool is_unfinished = journal.good_bytes != 0;
  Decision decision;
  switch (options.mode) {
    case DestinationMode::fresh:
      if (is_unfinished) {
        throw Error(ErrorCode::exists, "holds an unfinished pack",
                    {.path = options.destination, .hint = "continue with `resume`, or start again with `overwrite`"});
      }
      require_empty(plan, held_in(options, plan));
      return decision;
    case DestinationMode::overwrite: {
      const HeldDatasets held = held_in(options, plan);
      if (!journal.replacement) decision.old = datasets_to_replace(plan, held);
      decision.unfinished = removed_by_overwriting(decision.old, journal);
      std::vector<std::string> known = files_of_all(decision.old);
      known.insert(known.end(), decision.unfinished.begin(), decision.unfinished.end());
      if (name_is_taken(options.destination)) {
        DirectoryTree tree(Directory::open(options.destination));
        require_way_is_free(options, plan, known, tree);
      }
      decision.stay = datasets_that_stay(plan, held);
      return decision;
    }
    case DestinationMode::resume:
      break;
  }
  if (is_unfinished && journal.plan != plan.fingerprint) {
    refuse_other_plan(options.destination, "holds an unfinished pack of other files or options",
                      describe_changes(journal.facts, Journal::kept_samples(options.destination), plan.facts, samples),
                      "resume with the same source and options, or start again with `overwrite`");
  }
  decision.resumes = is_unfinished;
  // The manifests next to a staged run are those of the dataset that it replaces.
  if (!is_unfinished || !journal.staged) decision.finished = finished_manifests(options, plan);
  if (!is_unfinished && decision.finished.empty()) refuse_to_resume(options, plan, samples, held_in(options, plan));
  return decision;
}

void note_decision(const PackOptions& options, const Decision& decision) {
  if (!decision.stay.empty() && options.on_warning) options.on_warning(decision.stay);
}

/// Throws what the first change to the destination would throw for a lack of permission.
void require_writable(const std::string& destination) {
  std::string path = destination;
  struct stat info {};
  while (::stat(path.c_str(), &info) != 0 && errno == ENOENT && parent_directory(path) != path)
    path = parent_directory(path);
  if (::access(join_path(path, ".").c_str(), W_OK | X_OK) != 0) throw_errno("create the directory", destination);
}

/// Whether nothing is wrong with what the run did.
bool is_stop(const Error& error) {
  return error.code() == ErrorCode::interrupted || error.context().hint == k_no_space_hint;
}

void make_subdirectories(const Plan& plan, const Journal& journal) {
  for (const PlannedDataset& dataset : plan.datasets) {
    if (!dataset.subdirectory.empty()) journal.destination().make(dataset.subdirectory);
  }
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

void require_may_run(const PackOptions& options, const Plan& plan, const ListSamples& samples) {
  require_writable(options.destination);
  const JournalContent journal = Journal::look(options.destination);
  // The recorded replacement is carried out first. What it leaves is of its plan.
  if (journal.replacement && options.mode == DestinationMode::resume && journal.plan == plan.fingerprint) return;
  note_decision(options, decide(options, plan, samples, journal));
}

void require_may_begin(const PackOptions& options, const Plan& plan, const ListSamples& samples) {
  decide(options, plan, samples, {});
}

void try_format_options(const PackOptions& options, const std::string& directory) {
  const std::string path = join_path(directory, Journal::staged_name("options"));
  const auto writer = options.format.format->create(
      {.path = path, .layout = options.format.layout->name, .plan = {}, .format_options = options.format_options});
  ::unlink(path.c_str());
}

Destination prepare_destination(const PackOptions& options, const Plan& plan, const ListSamples& samples) {
  Journal journal = Journal::open(options.destination);
  bool was_unfinished = journal.is_unfinished();
  try {
    if (journal.content().replacement && options.mode != DestinationMode::fresh) {
      journal.finish_replacement();
      was_unfinished = false;
    }
    Decision decision = decide(options, plan, samples, journal.content());
    note_decision(options, decision);
    if (decision.resumes) {
      journal.resume(plan.open);
    } else {
      if (!decision.unfinished.empty()) {
        try_format_options(options, journal.path_of({}));
        DirectoryTree tree(Directory::open(options.destination));
        for (const std::string& file : decision.unfinished) tree.remove(file);
        tree.sync();
      }
      std::vector<std::string> last_files = list_files(options, plan);
      for (const NewFile& file : plan.files) last_files.push_back(file.name);
      journal.begin({.plan = plan.fingerprint,
                     .facts = plan.facts,
                     .staged = !decision.old.empty() || plan.base || stages_all(options, plan),
                     .ends_later = plan.rewritten.has_value(),
                     .last_files = std::move(last_files)},
                    decision.finished.empty() ? samples : ListSamples());
    }
    make_subdirectories(plan, journal);
    return {std::move(journal), std::move(decision.finished)};
  } catch (...) {
    if (!was_unfinished) {
      journal.remove();
      ::rmdir(options.destination.c_str());
    }
    throw;
  }
}

Error other_version_published(const std::string& directory, const Manifest& current, const std::string& base) {
  return {ErrorCode::retryable,
          fmt::format("another run published version {} of it, after {}", version_id(current), base),
          {.path = directory, .hint = "run the same again, to change that version"}};
}

Error resumable(const Error& error, DestinationMode mode) {
  if (!is_stop(error)) return error;
  const char* const how = mode == DestinationMode::resume      ? "again"
                          : mode == DestinationMode::overwrite ? "with `resume` instead of `overwrite`"
                                                               : "with `resume`";
  ErrorContext context = error.context();
  context.hint = fmt::format("{}run the same command {} to continue",
                             error.code() == ErrorCode::interrupted ? "" : "free some space, then ", how);
  return {error.code(), error.message(), std::move(context)};
}

bool stays_resumable(const Journal& journal, const Error& error) { return journal.content().staged && is_stop(error); }

PlannedReplacement plan_replacement(const PackOptions& options, const Plan& plan,
                                    const std::vector<Replacement::Move>& files,
                                    const std::vector<Replacement::Move>& manifests) {
  DirectoryTree tree(Directory::open(options.destination));
  if (plan.base) {
    require_base(options, plan);
    Replacement replacement{.files = files, .manifests = manifests};
    if (plan.rewritten) {
      replacement.moved_last = plan.rewritten->moved;
      replacement.removed_last = plan.rewritten->removed;
    }
    return {.replacement = std::move(replacement)};
  }
  const std::vector<OldDataset> old = datasets_to_replace(plan, held_in(options, plan));
  require_way_is_free(options, plan, files_of_all(old), tree);
  PlannedReplacement planned{.replacement = {.files = files, .manifests = manifests}};
  std::unordered_set<std::string> taken;
  for (const auto& [staged, path] : files) taken.insert(path);
  for (const OldDataset& dataset : old) {
    planned.replacement.old_manifests.push_back(below_destination(dataset.subdirectory, k_manifest_name));
    for (std::string& file : dataset.files()) {
      if (!taken.contains(file)) planned.replacement.old_files.push_back(std::move(file));
    }
    planned.replaced.push_back(report_of_replaced(options, dataset));
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
