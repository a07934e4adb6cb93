// plan_pack() and merge_parts(): the beginning and the end of packing on many machines.
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/formats/storage/url_storage.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/journal/finished_check.hpp"
#include "bale/writer/publish/dataset_manifest.hpp"
#include "bale/writer/publish/destination.hpp"
#include "bale/writer/publish/publisher.hpp"
#include "bale/writer/run/objects/object_pack.hpp"
#include "bale/writer/run/objects/staging_directory.hpp"
#include "bale/writer/run/part.hpp"
#include "bale/writer/run/part_directory.hpp"
#include "bale/writer/run/preview.hpp"

namespace bale {
namespace {

bool is_same_directory(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

/// Whether the shard's files are all there and agree with its record, as far as that shows without reading the shard.
bool is_there(const PlanFile& plan, const PlanFile::Place& place, const FinishedShard& finished) {
  if (finished.shard.num_samples == 0) return finished.shard.digest.empty();
  const std::vector<Replacement::Move> files = files_of_place(plan, place);
  const auto path_of = [&](const Replacement::Move& move) {
    return join_path(plan.options().destination, move.second);
  };
  if (!std::all_of(files.begin(), files.end(), [&](const auto& move) { return is_file(path_of(move)); })) return false;
  const std::string path = path_of(files.back());
  try {
    const ShardIndex index = ShardIndex::load(index_path(path));
    return index.digest() && digest_text(*index.digest()) == finished.shard.digest &&
           index.size() == finished.shard.num_samples && file_size(path) == finished.shard.bytes &&
           index.ends_digest() == digest_file_ends(path);
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
    return false;
  }
}

/// The plan of pack(), for a destination that may be packed to in parts.
Plan checked_plan(const Source& source, const PackOptions& options, const std::string& path) {
  use_url_storage();
  require_local_name(options.destination, UrlUse::packing);
  const bool writes_objects = is_object_store(options.destination);
  if (options.on_error == OnError::quarantine) {
    throw Error(ErrorCode::invalid_argument, "parts of a plan have no quarantine",
                {.hint = "choose `on_error` fail or skip"});
  }
  if (options.mode != DestinationMode::fresh) {
    throw Error(ErrorCode::invalid_argument, "a plan is for a new destination",
                {.hint = "drop `resume` and `overwrite`: rerunning a part resumes it"});
  }
  writes_objects ? require_object_options(source.places(), options)
                 : require_no_overlap(source.places(), options.destination);
  Plan plan = make_plan(source, options);
  tell_sizing(options, plan);
  try_format_options(options, StagingDirectory(writes_objects ? options.staging_directory : std::string{}).path());
  writes_objects ? require_empty_objects(options, plan) : require_may_begin(options, plan, {});
  if (is_same_directory(parent_directory(path), options.destination)) {
    throw Error(ErrorCode::invalid_argument, "the plan file is inside the destination",
                {.path = path, .hint = "keep it elsewhere"});
  }
  return plan;
}

class Merger {
 public:
  Merger(const PlanFile& plan, unsigned jobs, Progress& progress)
      : plan_(plan), options_(plan.options()), jobs_(jobs), progress_(progress) {
    progress_.total_shards = plan.num_shards();
  }

  MergeReport run(std::uint64_t parts) {
    plan_.require_directory();
    MergeReport report{.destination = options_.destination, .num_shards = plan_.num_shards()};
    if (take_published(report)) return report;
    const std::optional<PartDirectory> directory = PartDirectory::find(plan_);
    if (directory) find_finished(*directory);
    for (std::uint64_t number = 0; number < plan_.num_shards(); ++number) {
      report.payload_bytes += plan_.place(number).shard->bytes;
      if (!finished_.contains(number)) report.missing_shards.push_back(number);
    }
    if (!report.missing_shards.empty()) {
      if (!take_published(report)) name_missing_parts(directory, parts, report);  // or merged in the meantime
      return report;
    }
    try {
      publish(*directory, report);
    } catch (const Error&) {
      report.datasets.reset();
      if (!take_published(report)) throw;  // another merge was faster, and removed what the parts kept
    }
    return report;
  }

 private:
  /// Whether the datasets are published. Checks that their files are there.
  bool take_published(MergeReport& report) {
    std::vector<Manifest> manifests = finished_manifests(options_, plan_.plan());
    if (manifests.empty()) return false;
    report.missing_shards.clear();
    PackReport& datasets = report.datasets.emplace();
    for (std::size_t number = 0; number < manifests.size(); ++number) {
      const std::string directory = dataset_directory(options_, plan_.plan().datasets[number]);
      for (const ManifestShard& shard : manifests[number].shards) {
        const std::string path = join_path(directory, shard.file);
        if (file_size(path) != shard.bytes) {
          throw Error(ErrorCode::damaged, "the shard is not what was merged",
                      {.path = path, .hint = "repair it with `bale pack --resume` and the plan's options"});
        }
        datasets.num_bytes += shard.bytes;
      }
      datasets.num_samples += manifests[number].num_samples;
      datasets.num_resumed_shards += manifests[number].shards.size();
      datasets.outputs.push_back({directory, std::move(manifests[number])});
    }
    PartDirectory::remove(plan_);  // of a merge that was killed
    return true;
  }

  void find_finished(const PartDirectory& directory) {
    PartDirectory::Records records =
        directory.records([&](std::uint64_t number) { return number < plan_.num_shards(); });
    std::vector<std::pair<std::uint64_t, FinishedShard>> found;
    for (auto& [number, all] : records) {
      if (all.size() == 1) found.emplace_back(number, std::move(all.front().finished));
    }
    std::vector<char> whole(found.size());
    run_parallel(found.size(), jobs_ != 0 ? jobs_ : 4 * usable_cores(), [&](std::size_t i) {
      progress_.throw_if_stopped();
      whole[i] = is_there(plan_, plan_.place(found[i].first), found[i].second) ? 1 : 0;
      progress_.shards += 1;
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (whole[i] != 0) finished_.emplace(found[i].first, std::move(found[i].second));
    }
  }

  void name_missing_parts(const std::optional<PartDirectory>& directory, std::uint64_t parts,
                          MergeReport& report) const {
    std::set<std::uint64_t> noted;
    if (parts == 0 && directory) noted = directory->noted_parts();
    report.num_parts = parts != 0 ? parts : noted.size() == 1 ? *noted.begin() : 0;
    report.missing_parts = missing_parts_of(report.missing_shards, report.num_parts, plan_.num_shards());
  }

  void publish(const PartDirectory& directory, MergeReport& report) {
    FinishedShards finished(plan_.plan().datasets.size());
    for (auto& [number, shard] : finished_) {
      const PlannedDataset* const dataset = plan_.place(number).dataset;
      finished[static_cast<std::size_t>(dataset - plan_.plan().datasets.data())].push_back(std::move(shard));
    }
    require_samples(options_, plan_.plan(), finished);
    Publisher publisher(options_, plan_.plan(), directory.path(), PartDirectory::staged_as(0));
    report.datasets = publish_manifests(plan_.facts(), options_, plan_.plan(), finished, publisher);
    report.datasets->num_resumed_shards = plan_.num_shards();
    PartDirectory::remove(plan_);
  }

  const PlanFile& plan_;
  const PackOptions& options_;
  const unsigned jobs_;
  Progress& progress_;
  std::map<std::uint64_t, FinishedShard> finished_;
};

}  // namespace

PackPreview preview_plan(const Source& source, const PackOptions& options, const std::string& path) {
  const Plan plan = checked_plan(source, options, path);
  (void)source.save_head();
  return preview_of(source, options, plan);
}

PlanReport plan_pack(const Source& source, const PackOptions& options, const std::string& path) {
  const Plan plan = checked_plan(source, options, path);
  PlanFile::write(path, source, options, plan);
  PlanReport report{
      .digest = PlanFile::open(path).digest(), .num_samples = plan.num_samples, .num_bytes = plan.num_bytes};
  for (const PlannedDataset& dataset : plan.datasets) report.num_shards += dataset.shards.size();
  return report;
}

MergeReport merge_parts(const std::string& plan, std::uint64_t parts, unsigned jobs, Progress& progress) {
  const PlanFile opened = PlanFile::open(plan);
  use_url_storage();
  require_local_name(opened.options().destination, UrlUse::packing);
  if (is_object_store(opened.options().destination)) {
    opened.require_directory();
    return merge_object_parts(opened, parts, progress);
  }
  return Merger(opened, jobs, progress).run(parts);
}

}  // namespace bale
