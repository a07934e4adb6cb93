#include "bale/writer/run/objects/object_pack.hpp"

#include <algorithm>
#include <atomic>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/writer/journal/finished_check.hpp"
#include "bale/writer/plan/sidecars.hpp"
#include "bale/writer/publish/destination.hpp"
#include "bale/writer/publish/held_datasets.hpp"
#include "bale/writer/publish/publisher.hpp"
#include "bale/writer/run/objects/object_destination.hpp"
#include "bale/writer/run/objects/object_publisher.hpp"
#include "bale/writer/run/objects/object_shards.hpp"
#include "bale/writer/run/objects/staging_directory.hpp"

namespace bale {
namespace {

/// A name with one slash at the end, so that a directory is the beginning of what it holds.
std::string as_prefix(std::string name) {
  while (name.ends_with('/')) name.pop_back();
  return name + '/';
}

/// What a run does with what it found.
struct ObjectDecision {
  std::vector<OldDataset> old{};      // replaced
  std::vector<std::string> known{};   // objects that are there, of these and of an unfinished run that is replaced
  std::vector<Manifest> published{};  // of this plan
  bool goes_on = false;               // the unfinished run
  std::string stay{};                 // which datasets stay next to it; may be empty
};

/// Whether a run may write to its destination, which has been looked at. Throws if it may not. Changes nothing.
ObjectDecision decide(const ObjectDestination& destination, const PackOptions& options, const Plan& plan) {
  const std::optional<ObjectRun>& unfinished = destination.unfinished();
  ObjectDecision decision;
  if (options.mode == DestinationMode::overwrite) {
    const HeldDatasets held = destination.held();
    decision.old = datasets_to_replace(plan, held);
    decision.stay = datasets_that_stay(plan, held);
    std::vector<std::string>& known = decision.known;
    for (const OldDataset& old : decision.old) {
      const std::vector<std::string> files = old.files();
      known.insert(known.end(), files.begin(), files.end());
      known.push_back(below_destination(old.subdirectory, k_manifest_name));
    }
    if (unfinished) {
      for (const auto* files : {&unfinished->files, &unfinished->replaced}) {
        known.insert(known.end(), files->begin(), files->end());
      }
    }
    destination.require_way_is_free(known);
    std::erase_if(known, [&](const std::string& file) { return !destination.holds(file); });
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return decision;
  }
  if (unfinished && options.mode == DestinationMode::fresh) {
    throw Error(
        ErrorCode::exists, "holds an unfinished pack",
        {.path = options.destination,
         .hint = "continue with `resume`, or start again with `overwrite`, unless another program is packing there"});
  }
  if (options.mode == DestinationMode::resume) {
    if (unfinished && (unfinished->is_parts || unfinished->plan != plan.fingerprint)) {
      refuse_other_plan(options.destination, "holds an unfinished pack of other files or options",
                        describe_changes(unfinished->facts, {}, plan.facts, {}),
                        "resume with the same source and options, or start again with `overwrite`");
    }
    decision.published = destination.finished_manifests();
    if (!decision.published.empty()) return decision;
  }
  decision.goes_on = unfinished.has_value();
  if (!unfinished) require_empty(plan, destination.held());
  return decision;
}

void tell(const PackOptions& options, const ObjectDecision& decision) {
  if (!decision.stay.empty() && options.on_warning) options.on_warning(decision.stay);
}

class ObjectPacker {
 public:
  ObjectPacker(const PackWork& work, const PackOptions& options, Progress& progress)
      : work_(work),
        options_(options),
        progress_(progress),
        destination_(options, plan_, plan_.fingerprint, false, progress) {
    for (const PlannedDataset& dataset : plan_.datasets) {
      for (const PlannedShard& shard : dataset.shards) {
        slots_.push_back({.dataset = &dataset, .shard = &shard, .moves = moves_of_shard(options, dataset, shard)});
      }
    }
    progress_.total_samples = plan_.num_samples;
    progress_.total_bytes = plan_.num_bytes;
    progress_.total_shards = slots_.size();
  }

  PackReport run() {
    destination_.look();
    const StagingDirectory staging(options_.staging_directory);
    staging_ = staging.path();
    if (prepare()) return repair();
    destination_.abort_uploads();
    try {
      write_remaining();
      require_samples(options_, plan_, all_finished());
    } catch (const Error& error) {
      abandon();
      throw resumable(error, options_.mode);
    } catch (...) {
      abandon();
      throw;
    }
    ObjectPublisher publisher(destination_, std::move(replaced_));
    PackReport report = publish_manifests(work_.facts, options_, plan_, all_finished(), publisher);
    report.num_resumed_shards = num_resumed_;
    return report;
  }

 private:
  /// One shard of the plan and, when it is done, its result.
  struct Slot {
    const PlannedDataset* dataset;
    const PlannedShard* shard;
    std::vector<Replacement::Move> moves;
    std::optional<FinishedShard> finished{};
    std::string expected_digest{};  // of a finished dataset
    std::vector<std::string> stale_records{};
  };

  /// Begins the run or continues the unfinished one. Returns true if the dataset of this plan is published.
  bool prepare() {
    ObjectDecision decision = decide(destination_, options_, plan_);
    published_ = std::move(decision.published);
    if (!published_.empty()) return true;
    if (decision.goes_on) {
      destination_.go_on();
      take_over_finished();
      return false;
    }
    tell(options_, decision);
    try_format_options(options_, staging_);
    if (options_.mode != DestinationMode::overwrite) {
      destination_.begin();
      return false;
    }
    for (const OldDataset& old : decision.old) {
      replaced_.push_back({.directory = old.subdirectory.empty() ? options_.destination
                                                                 : join_path(options_.destination, old.subdirectory),
                           .name = old.manifest.name,
                           .num_samples = old.manifest.num_samples});
    }
    is_replacing_ = !decision.known.empty();
    destination_.begin_replacing(std::move(decision.known));
    return false;
  }

  void take_over_finished() {
    ObjectDestination::Records records =
        destination_.records([&](std::uint64_t number) { return number < slots_.size(); });
    for (auto& [number, all] : records) {
      Slot& slot = slots_[number];
      for (ObjectDestination::Record& record : all) {
        const bool is_whole = all.size() == 1 && has_same_policy(record.finished) &&
                              destination_.take_over(record, slot.moves) &&
                              (record.finished.checked_images || !options_.check_images);
        if (is_whole) {
          slot.finished = std::move(record.finished);
          count_resumed(slot);
        } else {
          slot.stale_records.push_back(record.name);
        }
      }
    }
  }

  /// A shard that left samples out under another policy is written again.
  bool has_same_policy(const FinishedShard& finished) const {
    return finished.skipped.empty() || finished.on_error == on_error_name(options_.on_error);
  }

  void count_resumed(const Slot& slot) {
    ++num_resumed_;
    progress_.samples += slot.shard->end - slot.shard->begin;
    progress_.bytes += slot.shard->bytes;
    progress_.skipped += slot.finished->skipped.size();
    progress_.shards += 1;
  }

  void write_remaining() {
    std::vector<std::size_t> remaining;
    for (std::size_t number = 0; number < slots_.size(); ++number) {
      if (!slots_[number].finished) remaining.push_back(number);
    }
    const auto write = [&](std::size_t i) { write_one(remaining[i]); };
    const unsigned jobs = options_.jobs != 0 ? options_.jobs : 2 * usable_cores();
    run_parallel(remaining.size(), jobs, write, [&] { progress_.stop = true; });
  }

  void write_one(std::size_t number) {
    Slot& slot = slots_[number];
    const std::string staged = join_path(staging_, slot.moves.back().first);
    FinishedShard finished =
        write_staged(options_, staging_, [&] { return work_.write(*slot.dataset, *slot.shard, staged); });
    if (!published_.empty() && finished.shard.digest != slot.expected_digest) {
      throw Error(ErrorCode::changed, "is missing or damaged, and its samples are not what they were",
                  {.path = join_path(options_.destination, slot.moves.back().second),
                   .hint = "pack everything again with `overwrite`"});
    }
    if (published_.empty()) destination_.require_owned();
    std::vector<StoredObject> files;
    if (finished.shard.num_samples != 0) files = destination_.store_shard(slot.moves, staging_);
    if (published_.empty()) {
      destination_.record(number, finished, files);
      for (const std::string& stale : slot.stale_records) destination_.remove_record(stale);
    }
    slot.finished = std::move(finished);
    progress_.shards += 1;
  }

  FinishedShards all_finished() const { return finished_by_dataset(plan_, slots_); }

  /// Leaves nothing of a run that has finished no shard. The destination was empty before.
  void abandon() noexcept {
    if (destination_.has_recorded() || is_replacing_ || options_.mode == DestinationMode::resume) return;
    try {
      destination_.abandon();
    } catch (...) {  // `overwrite` removes it
    }
  }

  /// Writes what is missing of the published dataset.
  PackReport repair() {
    for (Slot& slot : slots_) {
      const Manifest& manifest = published_[static_cast<std::size_t>(slot.dataset - plan_.datasets.data())];
      const auto known = std::find_if(manifest.shards.begin(), manifest.shards.end(),
                                      [&](const ManifestShard& shard) { return shard.file == slot.shard->file; });
      FinishedShard finished{.subdirectory = slot.dataset->subdirectory, .shard = {.file = slot.shard->file}};
      if (known != manifest.shards.end()) finished.shard = *known;
      slot.expected_digest = finished.shard.digest;
      if (known != manifest.shards.end() && !is_usable(slot, *known)) continue;
      slot.finished = std::move(finished);
      count_resumed(slot);
    }
    write_remaining();
    repair_lists();
    destination_.clear();  // of a run that was killed after it published
    return report_of_published();
  }

  bool is_usable(const Slot& slot, const ManifestShard& shard) const {
    if (!is_published(destination_, slot.moves, shard)) return false;
    const std::string path = destination_.store().name_of(slot.moves.back().second);
    return !options_.check_images || has_checked_images(path, options_, progress_);
  }

  void repair_lists() {
    ObjectPublisher publisher(destination_);
    for (std::size_t number = 0; number < published_.size(); ++number) {
      const PlannedDataset& dataset = plan_.datasets[number];
      for (const ShardList& list : lists_of(*options_.format.layout, options_.sidecars)) {
        if (destination_.holds(below_destination(dataset.subdirectory, std::string(list.file)))) continue;
        publish_list(publisher, dataset, published_[number], list);
      }
      const std::string ledger = below_destination(dataset.subdirectory, k_ledger_name);
      if (published_[number].num_skipped != 0 && !destination_.holds(ledger)) {
        throw Error(ErrorCode::damaged, "the list of skipped samples is missing",
                    {.path = destination_.store().name_of(ledger), .hint = "pack everything again with `overwrite`"});
      }
    }
  }

  PackReport report_of_published() {
    return report_of_earlier_run(options_, plan_, std::move(published_), num_resumed_, slots_.size() - num_resumed_);
  }

  const PackWork& work_;
  const PackOptions& options_;
  Progress& progress_;
  const Plan& plan_ = work_.plan;
  ObjectDestination destination_;
  std::string staging_;
  std::vector<Slot> slots_;
  std::vector<Manifest> published_;  // of this plan, found at the destination
  std::vector<PackReport::Replaced> replaced_;
  std::uint64_t num_resumed_ = 0;
  bool is_replacing_ = false;
};

}  // namespace

void require_object_options(const std::vector<std::string>& places, const PackOptions& options) {
  if (options.on_error == OnError::quarantine) {
    throw Error(ErrorCode::invalid_argument, "an object store has no quarantine",
                {.path = options.destination, .hint = "choose `on_error` fail or skip"});
  }
  const std::string destination = as_prefix(options.destination);
  for (const std::string& place : places) {
    require_apart_from_cache(place);
    if (as_prefix(place).starts_with(destination)) {
      throw Error(ErrorCode::invalid_argument, "holds the source",
                  {.path = options.destination, .hint = "choose a prefix outside of the source"});
    }
  }
}

PackReport run_object_pack(const PackWork& work, const PackOptions& options, Progress& progress) {
  require_object_options(work.places, options);
  return ObjectPacker(work, options, progress).run();
}

void require_may_run_objects(const PackOptions& options, const Plan& plan) {
  const Progress progress;
  ObjectDestination destination(options, plan, plan.fingerprint, false, progress);
  destination.look();
  tell(options, decide(destination, options, plan));
}

void require_empty_objects(const PackOptions& options, const Plan& plan) {
  const Progress progress;
  ObjectDestination destination(options, plan, {}, true, progress);
  destination.look();
  if (destination.unfinished()) {
    throw Error(ErrorCode::exists, "holds an unfinished pack",
                {.path = options.destination, .hint = "finish it with `resume`, or plan for another prefix"});
  }
  require_empty(plan, destination.held());
}

}  // namespace bale
