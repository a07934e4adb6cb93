#include "bale/writer/prune.hpp"

#include <ctime>
#include <set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/run/version_stage.hpp"
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
  Pruning(const std::string& directory, const PruneOptions& options) : held_(directory) {
    const Manifest current =
        parse_manifest(read_current_manifest(directory).text, join_path(directory, k_manifest_name));
    const std::set<std::string> keep = ids_to_keep(directory, options.keep);
    report_.kept.push_back(version_id(current));
    std::set<std::string> needed;
    std::set<std::string> named;
    add_files(current, needed);
    for (const KeptVersion& version : kept_versions(held_)) {
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
    for (const std::string& file : named) {
      if (needed.contains(file)) continue;
      for (std::string& path : held_.paths_of(file)) take(std::move(path));
    }
    // A run that is at work may have stored the newer ones.
    needed.merge(named);
    const std::time_t now = std::time(nullptr);
    for (std::string& layer : held_.layers_beside(needed, options.force ? now + k_day : now - k_day))
      take(std::move(layer));
  }

  const PruneReport& report() const { return report_; }
  void carry_out(VersionStage& stage) const {
    if (!gone_.empty() || !files_.empty()) stage.remove(gone_, files_);
  }

 private:
  void count(const std::string& path) {
    report_.num_files += 1;
    report_.num_bytes += held_.size_of(path);
  }

  void take(std::string path) {
    count(path);
    files_.push_back(std::move(path));
  }

  void require_old(const KeptVersion& version) const {
    const std::time_t days = (std::time(nullptr) - version.replaced_at) / k_day;
    if (days >= k_least_days) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("version {} was replaced less than {} days ago, and a training run may still read it",
                            version.id, k_least_days),
                {.path = held_.directory(), .hint = "keep it, or give `force`"});
  }

  HeldFiles held_;
  std::vector<GoneVersion> gone_;
  std::vector<std::string> files_;
  PruneReport report_;
};

}  // namespace

PruneReport prune_versions(const std::string& directory, const PruneOptions& options) {
  read_current_manifest(directory);  // readers of this machine then ask for it again
  if (options.dry_run) return Pruning(directory, options).report();
  const Progress progress;
  const std::unique_ptr<VersionStage> stage = VersionStage::begin(directory, nullptr, progress);
  const Pruning pruning(directory, options);
  pruning.carry_out(*stage);
  PruneReport report = pruning.report();
  report.bucket_keeps_removed = keeps_removed_objects(directory);
  return report;
}

}  // namespace bale
