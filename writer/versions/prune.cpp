#include "bale/writer/prune.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/change/removal_list.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/plan/dataset_files.hpp"

namespace bale {
namespace {

constexpr std::time_t k_day = 24 * 60 * 60;
constexpr std::time_t k_least_days = 14;  // that a run that trains may take
constexpr const char* k_prune_plan = "prune";
constexpr std::size_t k_count_digits = 3;  // of a number of versions; an id has more

/// A version that is not the current one, as it is kept.
struct Kept {
  std::string id;
  Manifest manifest;
  std::time_t replaced_at = 0;
};

std::vector<Kept> kept_versions(const std::string& directory) {
  std::vector<Kept> kept;
  for (const std::string& id : replaced_versions(directory)) {
    const std::string path = join_path(directory, kept_version(id));
    Kept version{.id = id, .manifest = load_manifest(path)};
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

/// The ids of the versions that stay.
std::set<std::string> ids_to_keep(const std::string& directory, const std::vector<std::string>& keep) {
  std::vector<DatasetVersion> known = dataset_versions(directory);
  std::erase_if(known, [](const DatasetVersion& version) { return !version.gone.empty(); });
  std::set<std::string> ids{known.front().id};
  if (keep.empty()) throw Error(ErrorCode::invalid_argument, "`keep` is needed: which versions stay");
  for (const std::string& text : keep) {
    if (text.size() <= k_count_digits) {
      const std::uint64_t count = parse_positive("`keep`", text);
      for (std::size_t n = 0; n < known.size() && n < count; ++n) ids.insert(known[n].id);
      continue;
    }
    if (!split_version(fmt::format("x@{}", text))) refuse_value("`keep`", text, "a number of versions or an id");
    const std::string id = find_version({.directory = directory, .id = text});
    load_manifest(join_path(directory, id == known.front().id ? k_manifest_name : kept_version(id)));
    ids.insert(id);
  }
  return ids;
}

void add_files(const Manifest& manifest, std::set<std::string>& files) {
  for (const ManifestShard& shard : manifest.shards) {
    const std::vector<std::string> of_shard = files_of(shard);
    files.insert(of_shard.begin(), of_shard.end());
  }
  for (const ManifestLayer& layer : manifest.layers) files.insert(layer_name(layer.digest));
  for (const ManifestRemovals& removals : manifest.removals) files.insert(removal_list_name(removals.digest));
}

class Pruning {
 public:
  Pruning(const std::string& directory, const PruneOptions& options) : directory_(directory) {
    const Manifest current = load_manifest(join_path(directory, k_manifest_name));
    const std::set<std::string> keep = ids_to_keep(directory, options.keep);
    report_.kept.push_back(version_id(current));
    std::set<std::string> needed;
    std::set<std::string> named;
    add_files(current, needed);
    for (Kept& version : kept_versions(directory)) {
      const bool stays = keep.contains(version.id);
      add_files(version.manifest, stays ? needed : named);
      if (!stays) {
        gone_.push_back(std::move(version));
      } else if (version.id != report_.kept.front()) {
        report_.kept.push_back(version.id);
      }
    }
    if (!options.force) require_old();
    DirectoryTree tree(Directory::open(directory));
    for (const std::string& file : named) {
      if (needed.contains(file)) continue;
      if (tree.holds(file)) take(file, replacement_.old_files);
      const std::string kept = join_path(std::string(k_versions_name), file);
      if (is_plain_name(file) && tree.holds(kept)) take(kept, replacement_.old_files);
    }
    for (const Kept& version : gone_) {
      report_.pruned.push_back(version.id);
      take(kept_version(version.id), replacement_.old_manifests);
      replacement_.manifests.emplace_back(Journal::staged_name(version.id), kept_version(version.id));
    }
  }

  const PruneReport& report() const { return report_; }

  void carry_out(Journal& journal) const {
    journal.begin({.plan = k_prune_plan, .staged = true}, {});
    for (const Kept& version : gone_) {
      const std::string text =
          gone_version_text({.id = version.id, .why = "pruned", .parent = version.manifest.parent});
      write_durably(journal.staged_path(version.id), as_bytes(text));
    }
    journal.record(replacement_);
    journal.finish_replacement();
  }

 private:
  void take(const std::string& path, std::vector<std::string>& paths) {
    report_.num_files += 1;
    report_.num_bytes += file_size(join_path(directory_, path)).value_or(0);
    paths.push_back(path);
  }

  void require_old() const {
    for (const Kept& version : gone_) {
      const std::time_t days = (std::time(nullptr) - version.replaced_at) / k_day;
      if (days >= k_least_days) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("version {} was replaced less than {} days ago, and a training run may still read it",
                              version.id, days + 1),
                  {.path = directory_,
                   .hint = fmt::format("keep it until {} days have passed, or give `force`", k_least_days)});
    }
  }

  const std::string& directory_;
  std::vector<Kept> gone_;
  Replacement replacement_;
  PruneReport report_;
};

/// Completes what an interrupted run had decided. Throws `exists` if another run has to be continued.
void take_over(Journal& journal, const std::string& directory) {
  if (journal.content().replacement) return journal.finish_replacement();
  if (!journal.is_unfinished() || journal.content().plan == k_prune_plan) return;
  throw Error(ErrorCode::exists, "holds an unfinished run",
              {.path = directory, .hint = "finish it first, with its command and `resume`"});
}

}  // namespace

PruneReport prune_versions(const std::string& directory, const PruneOptions& options) {
  require_local_name(directory, UrlUse::writing);
  if (is_object_store(directory)) {
    throw Error(ErrorCode::unsupported, "versions in an object store cannot be pruned", {.path = directory});
  }
  if (options.dry_run) return Pruning(directory, options).report();
  load_manifest(join_path(directory, k_manifest_name));  // else the journal would make a directory
  Journal journal = Journal::open(directory);
  bool is_unfinished = journal.is_unfinished();
  try {
    take_over(journal, directory);
    is_unfinished = false;
    const Pruning pruning(directory, options);
    if (!pruning.report().pruned.empty()) pruning.carry_out(journal);
    journal.remove();
    return pruning.report();
  } catch (...) {
    if (!is_unfinished && !journal.content().replacement) journal.remove();
    throw;
  }
}

}  // namespace bale
