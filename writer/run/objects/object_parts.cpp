// pack_object_part() and merge_object_parts(): parts of a plan whose destination is an object store.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/writer/publish/destination.hpp"
#include "bale/writer/publish/publisher.hpp"
#include "bale/writer/run/objects/object_destination.hpp"
#include "bale/writer/run/objects/object_pack.hpp"
#include "bale/writer/run/objects/object_publisher.hpp"
#include "bale/writer/run/objects/object_shards.hpp"
#include "bale/writer/run/objects/staging_directory.hpp"
#include "bale/writer/run/part.hpp"

namespace bale {
namespace {

/// The shards of published datasets by their name below the destination.
std::map<std::string, ManifestShard> published_shards(const Plan& plan, const std::vector<Manifest>& manifests) {
  std::map<std::string, ManifestShard> shards;
  for (std::size_t number = 0; number < manifests.size(); ++number) {
    for (const ManifestShard& shard : manifests[number].shards) {
      shards[below_destination(plan.datasets[number].subdirectory, shard.file)] = shard;
    }
  }
  return shards;
}

/// Throws `exists` if the parts cannot join what is at the destination.
void require_may_join(const ObjectDestination& destination, const PlanFile& plan) {
  const std::optional<ObjectRun>& unfinished = destination.unfinished();
  if (!unfinished) return require_empty(plan.plan(), destination.held());
  const std::string& path = plan.options().destination;
  if (!unfinished->is_parts) {
    throw Error(ErrorCode::exists, "holds an unfinished pack",
                {.path = path, .hint = "finish it with `resume`, or plan for another prefix"});
  }
  if (unfinished->plan != plan.digest()) {
    throw Error(ErrorCode::exists, "holds parts of another plan",
                {.path = path, .hint = "merge that plan, or plan for another prefix"});
  }
}

class ObjectPart {
 public:
  ObjectPart(const PlanFile& plan, const std::vector<std::uint64_t>& shards, const PackOptions& options,
             const WritePlanned& write, Progress& progress)
      : plan_(plan),
        options_(options),
        write_(write),
        progress_(progress),
        destination_(options, plan.plan(), plan.digest(), true, progress) {
    progress_.total_shards = shards.size();
    for (const std::uint64_t number : shards) {
      const PlanFile::Place place = plan.place(number);
      slots_.push_back({.number = number, .place = place, .moves = files_of_place(plan, place)});
      progress_.total_samples += place.shard->end - place.shard->begin;
      progress_.total_bytes += place.shard->bytes;
    }
  }

  PartReport run(std::uint64_t parts) {
    destination_.look();
    if (take_published()) return report(true);
    require_may_join(destination_, plan_);
    destination_.unfinished() ? destination_.go_on() : destination_.begin();
    if (parts != 0) destination_.note_parts(parts);
    abort_own_uploads();
    take_over_finished();
    write_remaining();
    return report(leave());
  }

 private:
  struct Slot {
    std::uint64_t number;
    PlanFile::Place place;
    std::vector<Replacement::Move> moves;
    std::optional<FinishedShard> finished{};
    std::vector<std::string> stale_records{};
  };

  /// Whether the datasets are published. Then the shards are looked at; one that is missing is an error.
  bool take_published() {
    const std::vector<Manifest> manifests = destination_.finished_manifests();
    if (manifests.empty()) return false;
    const std::map<std::string, ManifestShard> known = published_shards(plan_.plan(), manifests);
    for (Slot& slot : slots_) {
      FinishedShard finished{.subdirectory = slot.place.dataset->subdirectory,
                             .shard = {.file = slot.place.shard->file}};
      const auto found = known.find(slot.moves.back().second);
      if (found != known.end()) {
        finished.shard = found->second;
        if (!is_published(destination_, slot.moves, found->second)) {
          throw Error(ErrorCode::damaged, "the shard is not what was merged",
                      {.path = destination_.store().name_of(slot.moves.back().second),
                       .hint = "repair it with `bale pack --resume` and the plan's options"});
        }
      }
      slot.finished = std::move(finished);
      count_resumed(slot);
    }
    return true;
  }

  void abort_own_uploads() const {
    std::vector<std::string> files;
    for (const Slot& slot : slots_) {
      for (const Replacement::Move& move : slot.moves) files.push_back(move.second);
    }
    destination_.abort_uploads(files);
  }

  void take_over_finished() {
    std::set<std::uint64_t> own;
    for (const Slot& slot : slots_) own.insert(slot.number);
    ObjectDestination::Records records =
        destination_.records([&](std::uint64_t number) { return own.contains(number); });
    for (Slot& slot : slots_) {
      std::vector<ObjectDestination::Record>& all = records[slot.number];
      for (ObjectDestination::Record& record : all) {
        if (all.size() == 1 && destination_.take_over(record, slot.moves)) {
          slot.finished = std::move(record.finished);
          count_resumed(slot);
        } else {
          slot.stale_records.push_back(record.name);
        }
      }
    }
  }

  void count_resumed(const Slot& slot) {
    ++num_resumed_;
    progress_.samples += slot.place.shard->end - slot.place.shard->begin;
    progress_.bytes += slot.place.shard->bytes;
    progress_.skipped += slot.finished->skipped.size();
    progress_.shards += 1;
  }

  void write_remaining() {
    std::vector<Slot*> remaining;
    for (Slot& slot : slots_) {
      if (!slot.finished) remaining.push_back(&slot);
    }
    if (remaining.empty()) return;
    const StagingDirectory staging(options_.staging_directory);
    try_format_options(options_, staging.path());
    const auto write = [&](std::size_t i) {
      write_one(*remaining[i], staging.path());
      progress_.shards += 1;
    };
    const unsigned jobs = options_.jobs != 0 ? options_.jobs : 2 * usable_cores();
    run_parallel(remaining.size(), jobs, write, [&] { progress_.stop = true; });
  }

  void write_one(Slot& slot, const std::string& staging) {
    const std::string staged = join_path(staging, slot.moves.back().first);
    FinishedShard finished = write_staged(options_, staging, [&] { return write_(slot.number, staged); });
    std::vector<StoredObject> files;
    if (finished.shard.num_samples != 0) {
      files = destination_.store_shard(slot.moves, staging);
    } else {
      // Of an earlier attempt, which read a sample that cannot be read any more.
      for (const Replacement::Move& move : slot.moves) destination_.store().remove(move.second);
    }
    for (const std::string& stale : slot.stale_records) destination_.remove_record(stale);
    destination_.record(slot.number, finished, files);
    slot.finished = std::move(finished);
  }

  /// Notices attempts that wrote other bytes at the same time. Returns whether the datasets were published in the
  /// meantime.
  bool leave() {
    destination_.look();
    for (const Slot& slot : slots_) {
      const auto records = destination_.records([&](std::uint64_t number) { return number == slot.number; });
      const auto found = records.find(slot.number);
      if (found == records.end() || found->second.size() <= 1) continue;
      throw Error(
          ErrorCode::retryable, "another attempt at this shard wrote other bytes at the same time",
          {.path = destination_.store().name_of(slot.moves.back().second), .hint = "run this part again, alone"});
    }
    if (destination_.finished_manifests().empty()) return false;
    destination_.clear();
    return true;
  }

  PartReport report(bool is_merged) const {
    return report_of_part(options_.destination, slots_, num_resumed_, is_merged);
  }

  const PlanFile& plan_;
  const PackOptions& options_;
  const WritePlanned& write_;
  Progress& progress_;
  ObjectDestination destination_;
  std::vector<Slot> slots_;
  std::uint64_t num_resumed_ = 0;
};

class ObjectMerger {
 public:
  ObjectMerger(const PlanFile& plan, Progress& progress)
      : plan_(plan),
        options_(plan.options()),
        progress_(progress),
        destination_(options_, plan.plan(), plan.digest(), true, progress) {
    progress_.total_shards = plan.num_shards();
  }

  MergeReport run(std::uint64_t parts) {
    MergeReport report{.destination = options_.destination, .num_shards = plan_.num_shards()};
    destination_.look();
    if (take_published(report)) return report;
    const bool has_begun = destination_.unfinished() && destination_.unfinished()->plan == plan_.digest();
    if (has_begun) {
      destination_.go_on();
      find_finished();
    }
    for (std::uint64_t number = 0; number < plan_.num_shards(); ++number) {
      if (!finished_.contains(number)) report.missing_shards.push_back(number);
    }
    if (!report.missing_shards.empty()) {
      name_missing_parts(parts, report);
      return report;
    }
    try {
      publish(report);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted) throw;
      report.datasets.reset();
      destination_.look();
      if (!take_published(report)) throw;  // another merge was faster, and removed what the parts kept
    }
    return report;
  }

 private:
  /// Whether the datasets are published. Checks that their files are there.
  bool take_published(MergeReport& report) {
    std::vector<Manifest> manifests = destination_.finished_manifests();
    if (manifests.empty()) return false;
    report.missing_shards.clear();
    PackReport& datasets = report.datasets.emplace();
    for (std::size_t number = 0; number < manifests.size(); ++number) {
      const PlannedDataset& dataset = plan_.plan().datasets[number];
      for (const ManifestShard& shard : manifests[number].shards) {
        const std::string file = below_destination(dataset.subdirectory, shard.file);
        const StoredObject* const object = destination_.find(file);
        if (object == nullptr || object->size != shard.bytes) {
          throw Error(ErrorCode::damaged, "the shard is not what was merged",
                      {.path = destination_.store().name_of(file),
                       .hint = "repair it with `bale pack --resume` and the plan's options"});
        }
        datasets.num_bytes += shard.bytes;
      }
      datasets.num_samples += manifests[number].num_samples;
      datasets.num_resumed_shards += manifests[number].shards.size();
      datasets.outputs.push_back({dataset_directory(options_, dataset), std::move(manifests[number])});
    }
    destination_.clear();  // of a merge that was killed
    return true;
  }

  void find_finished() {
    ObjectDestination::Records records =
        destination_.records([&](std::uint64_t number) { return number < plan_.num_shards(); });
    for (auto& [number, all] : records) {
      if (all.size() != 1) continue;
      if (!destination_.take_over(all.front(), files_of_place(plan_, plan_.place(number)))) continue;
      finished_.emplace(number, std::move(all.front().finished));
      progress_.shards += 1;
    }
  }

  void name_missing_parts(std::uint64_t parts, MergeReport& report) const {
    const std::vector<std::uint64_t> noted = destination_.noted_parts();
    report.num_parts = parts != 0 ? parts : noted.size() == 1 ? noted.front() : 0;
    report.missing_parts = missing_parts_of(report.missing_shards, report.num_parts, plan_.num_shards());
  }

  void publish(MergeReport& report) {
    FinishedShards finished(plan_.plan().datasets.size());
    for (auto& [number, shard] : finished_) {
      const PlannedDataset* const dataset = plan_.place(number).dataset;
      finished[static_cast<std::size_t>(dataset - plan_.plan().datasets.data())].push_back(std::move(shard));
    }
    require_samples(options_, plan_.plan(), finished);
    ObjectPublisher publisher(destination_);
    report.datasets = publish_manifests(plan_.facts(), options_, plan_.plan(), finished, publisher);
    report.datasets->num_resumed_shards = plan_.num_shards();
  }

  const PlanFile& plan_;
  const PackOptions& options_;
  Progress& progress_;
  ObjectDestination destination_;
  std::map<std::uint64_t, FinishedShard> finished_;
};

}  // namespace

PartReport pack_object_part(const PlanFile& plan, const std::vector<std::uint64_t>& shards, std::uint64_t parts,
                            const PackOptions& options, const WritePlanned& write, Progress& progress) {
  return ObjectPart(plan, shards, options, write, progress).run(parts);
}

void require_may_join_objects(const PlanFile& plan) {
  const Progress progress;
  ObjectDestination destination(plan.options(), plan.plan(), plan.digest(), true, progress);
  destination.look();
  if (destination.finished_manifests().empty()) require_may_join(destination, plan);
}

MergeReport merge_object_parts(const PlanFile& plan, std::uint64_t parts, Progress& progress) {
  return ObjectMerger(plan, progress).run(parts);
}

}  // namespace bale
