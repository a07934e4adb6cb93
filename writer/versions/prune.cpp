#include "bale/writer/prune.hpp"

#include <ctime>
#include <set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/versions/kept_versions.hpp"

namespace bale {
namespace {

constexpr std::time_t k_day = 24 * 60 * 60;
constexpr std::time_t k_least_days = 14;   // that a run that trains may take
constexpr std::size_t k_count_digits = 3;  // of a number of versions; an id has more

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
    load_manifest(join_path(directory, id == known.front().id ? k_manifest_name : kept_version(id)));  // it is kept
    ids.insert(id);
  }
  return ids;
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
    for (const KeptVersion& version : kept_versions(directory)) {
      const bool stays = keep.contains(version.id);
      add_files(version.manifest, stays ? needed : named);
      if (!stays) {
        if (!options.force) require_old(version);
        gone_.push_back({.id = version.id, .why = "pruned", .parent = version.manifest.parent});
        report_.pruned.push_back(version.id);
        count(kept_version(version.id));
      } else if (version.id != report_.kept.front()) {
        report_.kept.push_back(version.id);
      }
    }
    DirectoryTree tree(Directory::open(directory));
    for (const std::string& file : named) {
      if (needed.contains(file)) continue;
      for (std::string& path : paths_of(file, tree)) {
        count(path);
        files_.push_back(std::move(path));
      }
    }
  }

  const PruneReport& report() const { return report_; }
  void carry_out(Journal& journal) const {
    if (!gone_.empty()) remove_versions(journal, gone_, files_);
  }

 private:
  void count(const std::string& path) {
    report_.num_files += 1;
    report_.num_bytes += file_size(join_path(directory_, path)).value_or(0);
  }

  void require_old(const KeptVersion& version) const {
    const std::time_t days = (std::time(nullptr) - version.replaced_at) / k_day;
    if (days >= k_least_days) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("version {} was replaced less than {} days ago, and a training run may still read it",
                            version.id, k_least_days),
                {.path = directory_, .hint = "keep it, or give `force`"});
  }

  const std::string& directory_;
  std::vector<GoneVersion> gone_;
  std::vector<std::string> files_;
  PruneReport report_;
};

}  // namespace

PruneReport prune_versions(const std::string& directory, const PruneOptions& options) {
  require_removable_shards(directory);
  require_local_name(directory, UrlUse::writing);
  if (options.dry_run) return Pruning(directory, options).report();
  Journal journal = lock_versions(directory);
  try {
    const Pruning pruning(directory, options);
    pruning.carry_out(journal);
    journal.remove();
    return pruning.report();
  } catch (...) {
    if (!journal.content().replacement) journal.remove();
    throw;
  }
}

}  // namespace bale
