#include "bale/writer/run/pack_run.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/journal/finished_check.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/plan/sidecars.hpp"
#include "bale/writer/publish/dataset_manifest.hpp"
#include "bale/writer/publish/destination.hpp"
#include "bale/writer/publish/publisher.hpp"

namespace bale {
namespace {

/// One shard of the plan and, when it is done, its result.
struct Slot {
  const PlannedDataset* dataset;
  const PlannedShard* shard;
  std::optional<FinishedShard> finished{};
  std::string expected_digest{};  // empty unless the dataset is already finished
};

/// Two jobs per core: while one waits for its shard to become durable, another uses the core.
unsigned default_jobs() { return 2 * usable_cores(); }

class Packer {
 public:
  Packer(const PackWork& work, const PackOptions& options, Progress& progress)
      : work_(work), options_(options), progress_(progress) {
    for (const PlannedDataset& dataset : plan_.datasets) {
      for (const PlannedShard& shard : dataset.shards) slots_.push_back({&dataset, &shard});
    }
    progress_.total_samples = plan_.num_samples;
    progress_.total_bytes = plan_.num_bytes;
    progress_.total_shards = slots_.size();
  }

  PackReport run() {
    require_no_overlap(work_.places, options_.destination);
    if (!Journal::present(options_.destination)) {
      if (options_.mode == DestinationMode::resume && finds_all_finished()) return report_of_finished_run();
      require_may_begin(options_, plan_, work_.samples);
    }
    Destination destination = prepare_destination(options_, plan_, work_.samples);
    try {
      return run_in(destination);
    } catch (const Error& error) {
      throw resumable(error, options_.mode);
    }
  }

 private:
  PackReport run_in(Destination& destination) {
    journal_ = &destination.journal;
    finished_ = std::move(destination.finished);
    publisher_.emplace(*journal_, options_, plan_);
    take_up_finished_shards();
    count_finished_shards();
    try {
      write_remaining_shards();
      if (finished_.empty()) require_samples(options_, plan_, all_finished());
    } catch (const Error& error) {
      // A recorded shard may already have its final name, even if publishing it reported an error.
      if (!journal_->has_recorded() && !stays_resumable(*journal_, error))
        abandon_destination(*journal_, options_, plan_);
      throw;
    } catch (...) {
      if (!journal_->has_recorded()) abandon_destination(*journal_, options_, plan_);
      throw;
    }
    PackReport report = finished_.empty() ? publish_manifests(work_.facts, options_, plan_, all_finished(), *publisher_)
                                          : report_of_repaired_run();
    report.num_resumed_shards = num_resumed_;
    journal_->remove();
    return report;
  }

  std::string final_path(const Slot& slot) const {
    return join_path(dataset_directory(options_, *slot.dataset), slot.shard->file);
  }

  /// Whether the destination holds the finished datasets of this plan with all their files.
  bool finds_all_finished() {
    finished_ = finished_manifests(options_, plan_);
    if (finished_.empty()) return false;
    Journal::clear_removed(options_.destination);
    take_up_finished_shards();
    const bool all = std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.finished; });
    if (!all || !lists_are_there()) return false;
    count_finished_shards();
    return true;
  }

  /// Takes over shards that earlier runs finished: from the journal or, if those runs ended, from the manifests.
  void take_up_finished_shards() {
    std::map<std::pair<std::string, std::string>, FinishedShard> recorded;
    if (finished_.empty()) {
      for (const FinishedShard& finished : journal_->content().finished) {
        require_same_policy(finished);
        recorded[{finished.subdirectory, finished.shard.file}] = finished;
      }
    }
    for (std::size_t number = 0; number < finished_.size(); ++number) {
      const std::string& subdirectory = plan_.datasets[number].subdirectory;
      for (const PlannedShard& shard : plan_.datasets[number].shards) {
        recorded[{subdirectory, shard.file}] = {.subdirectory = subdirectory, .shard = {.file = shard.file}};
      }
      for (const ManifestShard& shard : finished_[number].shards) {
        recorded[{subdirectory, shard.file}] = {.subdirectory = subdirectory, .shard = shard};
      }
    }
    run_parallel(slots_.size(), options_.jobs != 0 ? options_.jobs : usable_cores(), [&](std::size_t number) {
      progress_.throw_if_stopped();
      Slot& slot = slots_[number];
      slot.finished.reset();
      const auto found = recorded.find({slot.dataset->subdirectory, slot.shard->file});
      if (found == recorded.end()) return;
      if (!finished_.empty()) slot.expected_digest = found->second.shard.digest;
      if (is_usable(slot, found->second)) slot.finished = found->second;
    });
  }

  /// Checks a recorded shard of an earlier run against its digest.
  bool is_usable(const Slot& slot, const FinishedShard& finished) const {
    if (!has_its_quarantined_files(finished)) return false;
    if (finished.shard.num_samples == 0) return finished.shard.digest.empty();  // it has no file
    const bool staged = journal_ != nullptr && journal_->content().staged;
    const std::vector<Replacement::Move> moves = moves_of_shard(options_, *slot.dataset, *slot.shard);
    if (!is_intact(moves, options_, finished, staged ? journal_->path_of({}) : std::string{})) return false;
    const std::string path = staged ? journal_->path_of(moves.back().first) : final_path(slot);
    return finished.checked_images || !options_.check_images || has_checked_images(path, options_, progress_);
  }

  void count_finished_shards() {
    for (const Slot& slot : slots_) {
      if (!slot.finished) continue;
      ++num_resumed_;
      progress_.samples += slot.shard->end - slot.shard->begin;
      progress_.bytes += slot.shard->bytes;
      progress_.skipped += slot.finished->skipped.size();
      progress_.shards += 1;
      if (journal_ != nullptr && journal_->content().staged && slot.finished->shard.num_samples != 0) {
        publisher_->shard(*slot.dataset, *slot.shard);
      }
    }
  }

  /// One ledger, one policy: a run that skipped samples must be resumed with the policy it began with.
  void require_same_policy(const FinishedShard& finished) const {
    const std::string_view policy = on_error_name(options_.on_error);
    if (finished.skipped.empty() || finished.on_error == policy) return;
    if (finished.on_error.empty() && options_.on_error == OnError::skip) return;
    const std::string begun = finished.on_error.empty() ? "skip" : finished.on_error;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the interrupted run left samples out under the policy \"{}\" for bad samples, not \"{}\"",
                            printable(begun), policy),
                {.path = options_.destination,
                 .hint = fmt::format("resume with `on_error` {}, or start again with `overwrite`", printable(begun))});
  }

  bool has_its_quarantined_files(const FinishedShard& finished) const {
    const std::string directory =
        finished.subdirectory.empty() ? options_.destination : join_path(options_.destination, finished.subdirectory);
    return std::all_of(finished.skipped.begin(), finished.skipped.end(), [&](const SkippedSample& sample) {
      return std::all_of(sample.quarantined.begin(), sample.quarantined.end(),
                         [&](const std::string& copy) { return path_exists(join_path(directory, copy)); });
    });
  }

  void write_remaining_shards() {
    std::vector<Slot*> remaining;
    for (Slot& slot : slots_) {
      if (!slot.finished) remaining.push_back(&slot);
    }
    const auto write = [&](std::size_t number) { write_one(*remaining[number]); };
    const unsigned jobs = options_.jobs != 0 ? options_.jobs : default_jobs();
    run_parallel(remaining.size(), jobs, write, [&] { progress_.stop = true; });
  }

  void write_one(Slot& slot) {
    const std::string staged = journal_->staged_path(slot.dataset->subdirectory + slot.shard->file);
    FinishedShard finished = work_.write(*slot.dataset, *slot.shard, staged);
    if (!finished_.empty() && finished.shard.digest != slot.expected_digest) {
      throw Error(ErrorCode::changed, "is missing or damaged, and its samples are not what they were",
                  {.path = final_path(slot), .hint = "pack everything again with `overwrite`"});
    }
    journal_->record(finished);
    if (finished.shard.num_samples != 0) publisher_->shard(*slot.dataset, *slot.shard);
    slot.finished = std::move(finished);
    progress_.shards += 1;
  }

  FinishedShards all_finished() const { return finished_by_dataset(plan_, slots_); }

  /// Whether all files of the finished datasets other than their shards exist.
  bool lists_are_there() const {
    for (std::size_t number = 0; number < finished_.size(); ++number) {
      const std::string directory = dataset_directory(options_, plan_.datasets[number]);
      for (const std::string& list : finished_[number].lists) {
        if (!is_file(join_path(directory, list))) return false;
      }
      if (finished_[number].num_skipped != 0 && !is_file(join_path(directory, k_ledger_name))) return false;
    }
    return true;
  }

  /// Writes the missing lists of finished datasets whose shards are all present.
  PackReport report_of_repaired_run() {
    for (std::size_t number = 0; number < finished_.size(); ++number) {
      const PlannedDataset& dataset = plan_.datasets[number];
      const std::string directory = dataset_directory(options_, dataset);
      for (const ShardList& list : lists_of(*options_.format.layout, options_.sidecars)) {
        if (!is_file(join_path(directory, list.file))) publish_list(*publisher_, dataset, finished_[number], list);
      }
      const std::string ledger = join_path(directory, k_ledger_name);
      if (finished_[number].num_skipped != 0 && !is_file(ledger)) {
        throw Error(ErrorCode::damaged, "the list of skipped samples is missing",
                    {.path = ledger, .hint = "pack everything again with `overwrite`"});
      }
    }
    return report_of_finished_run();
  }

  PackReport report_of_finished_run() {
    return report_of_earlier_run(options_, plan_, std::move(finished_), num_resumed_, slots_.size() - num_resumed_);
  }

  const PackWork& work_;
  const PackOptions& options_;
  Progress& progress_;
  const Plan& plan_ = work_.plan;
  std::vector<Slot> slots_;
  std::vector<Manifest> finished_;  // of this plan, found at the destination
  Journal* journal_ = nullptr;
  std::optional<Publisher> publisher_;
  std::uint64_t num_resumed_ = 0;
};

}  // namespace

PackReport run_pack(const PackWork& work, const PackOptions& options, Progress& progress) {
  return Packer(work, options, progress).run();
}

}  // namespace bale
