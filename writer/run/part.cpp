// pack_part(): packs shards of a plan file.
#include "bale/writer/run/part.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/formats/storage/url_storage.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/journal/finished_check.hpp"
#include "bale/writer/publish/destination.hpp"
#include "bale/writer/publish/publisher.hpp"
#include "bale/writer/run/objects/object_pack.hpp"
#include "bale/writer/run/part_directory.hpp"
#include "bale/writer/shard/quarantine.hpp"
#include "bale/writer/shard/shard_job.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace bale {
namespace {

/// Writes a shard of the plan under the temporary name `staged`.
FinishedShard write_planned(const PlanFile& plan, const PackOptions& options, const SavedSource& saved,
                            std::uint64_t number, const std::string& staged, Progress& progress) {
  std::unique_ptr<SavedRows> rows = saved.begin_rows();
  plan.read_rows(number, [&](std::string_view row) { rows->add(row); });
  const std::unique_ptr<Source> source = rows->finish();
  const PlanFile::Place place = plan.place(number);
  PlannedDataset dataset{.name = place.dataset->name,
                         .subdirectory = place.dataset->subdirectory,
                         .order = std::vector<std::uint32_t>(source->size()),
                         .shards = {}};
  std::iota(dataset.order.begin(), dataset.order.end(), std::uint32_t{0});
  const PlannedShard shard{.file = place.shard->file, .begin = 0, .end = source->size(), .bytes = place.shard->bytes};
  Quarantine quarantine;
  const ShardJob job{.source = *source,
                     .options = options,
                     .dataset = dataset,
                     .shard = shard,
                     .quarantine = quarantine,
                     .fixed_source = true,
                     .staged_path = staged};
  return write_shard(job, progress);
}

class PartPacker {
 public:
  PartPacker(const PlanFile& plan, std::vector<std::uint64_t> shards, unsigned jobs, Progress& progress)
      : plan_(plan), options_(plan.options()), jobs_(jobs), progress_(progress) {
    for (const std::uint64_t number : shards) slots_.push_back({.number = number, .place = plan.place(number)});
    progress_.total_shards = slots_.size();
    for (const Slot& slot : slots_) {
      progress_.total_samples += slot.place.shard->end - slot.place.shard->begin;
      progress_.total_bytes += slot.place.shard->bytes;
    }
  }

  PartReport run(std::uint64_t parts) {
    plan_.require_directory();
    is_merged_ = is_merged();
    if (is_merged_) return report();
    try {
      pack(parts);
    } catch (const Error& error) {
      // The merge removes what parts keep, if another attempt at this part was faster.
      const bool is_final = error.code() == ErrorCode::changed || error.code() == ErrorCode::interrupted;
      if (is_final || !was_merged()) throw;
    }
    return report();
  }

 private:
  struct Slot {
    std::uint64_t number;
    PlanFile::Place place;
    std::optional<FinishedShard> finished{};
    std::vector<std::string> stale{};  // records of earlier attempts that no whole shard has
  };

  void pack(std::uint64_t parts) {
    source_ = SavedSource::open(plan_.source_head());
    require_no_overlap(source_->begin_rows()->finish()->places(), options_.destination);
    directory_.emplace(PartDirectory::make(plan_));
    if (parts != 0) directory_->note_parts(parts);
    take_up_finished();
    write_remaining();
    clear_away();
  }

  bool was_merged() {
    for (Slot& slot : slots_) slot.finished.reset();
    num_resumed_ = 0;
    progress_.stop = false;
    is_merged_ = is_merged();
    if (is_merged_) PartDirectory::remove(plan_);
    return is_merged_;
  }

  /// Whether the datasets are published. Then the shards are compared with their digests; a damaged one is an error.
  bool is_merged() {
    const std::vector<Manifest> manifests = finished_manifests(options_, plan_.plan());
    if (manifests.empty()) return false;
    std::map<std::pair<std::string, std::string>, ManifestShard> known;
    for (std::size_t d = 0; d < manifests.size(); ++d) {
      for (const ManifestShard& shard : manifests[d].shards) {
        known[{plan_.plan().datasets[d].subdirectory, shard.file}] = shard;
      }
    }
    check([&](Slot& slot) {
      const auto found = known.find({slot.place.dataset->subdirectory, slot.place.shard->file});
      FinishedShard finished{.subdirectory = slot.place.dataset->subdirectory,
                             .shard = {.file = slot.place.shard->file}};
      if (found != known.end()) finished.shard = found->second;
      if (!is_whole(slot, finished)) {
        throw Error(ErrorCode::damaged, "the shard is not what was merged",
                    {.path = final_path(slot), .hint = "repair it with `bale pack --resume` and the plan's options"});
      }
      slot.finished = std::move(finished);
    });
    return true;
  }

  std::string final_path(const Slot& slot) const {
    return join_path(dataset_directory(options_, *slot.place.dataset), slot.place.shard->file);
  }

  bool is_whole(const Slot& slot, const FinishedShard& finished) const {
    if (finished.shard.num_samples == 0) return finished.shard.digest.empty();
    return is_intact(files_of_place(plan_, slot.place), options_, finished, {});
  }

  void check(const std::function<void(Slot&)>& work) {
    run_parallel(slots_.size(), jobs_ != 0 ? jobs_ : usable_cores(), [&](std::size_t number) {
      progress_.throw_if_stopped();
      work(slots_[number]);
      if (slots_[number].finished) count(slots_[number]);
    });
  }

  void count(const Slot& slot) {
    ++num_resumed_;
    progress_.samples += slot.place.shard->end - slot.place.shard->begin;
    progress_.bytes += slot.place.shard->bytes;
    progress_.skipped += slot.finished->skipped.size();
    progress_.shards += 1;
  }

  PartDirectory::Records own_records() const {
    std::vector<std::uint64_t> mine;
    for (const Slot& slot : slots_) mine.push_back(slot.number);
    return directory_->records([&](std::uint64_t n) { return std::binary_search(mine.begin(), mine.end(), n); });
  }

  void take_up_finished() {
    PartDirectory::Records records = own_records();
    check([&](Slot& slot) {
      const auto found = records.find(slot.number);
      if (found == records.end()) return;
      std::vector<PartDirectory::Record>& all = found->second;
      if (all.size() == 1 && is_whole(slot, all.front().finished)) {
        slot.finished = std::move(all.front().finished);
        return;
      }
      for (const PartDirectory::Record& record : all) slot.stale.push_back(record.name);
    });
  }

  void write_remaining() {
    std::vector<Slot*> remaining;
    for (Slot& slot : slots_) {
      if (!slot.finished) remaining.push_back(&slot);
    }
    const auto write = [&](std::size_t number) {
      Slot& slot = *remaining[number];
      try {
        write_one(slot);
      } catch (const Error& error) {
        // Another attempt may have finished the shard, and removed the temporary files of this one.
        const bool is_final = error.code() == ErrorCode::changed || error.code() == ErrorCode::interrupted;
        if (is_final || !finished_by_another(slot)) throw;
      }
      progress_.shards += 1;
    };
    run_parallel(remaining.size(), jobs_ != 0 ? jobs_ : 2 * usable_cores(), write, [&] { progress_.stop = true; });
  }

  bool finished_by_another(Slot& slot) {
    PartDirectory::Records records = directory_->records([&](std::uint64_t number) { return number == slot.number; });
    const auto found = records.find(slot.number);
    if (found == records.end() || found->second.size() != 1) return false;
    FinishedShard& finished = found->second.front().finished;
    if (finished.shard.num_samples == 0 || !is_whole(slot, finished)) return false;
    slot.finished = std::move(finished);
    return true;
  }

  /// The temporary names are of this attempt alone.
  std::vector<Replacement::Move> staged_moves(const Slot& slot) const {
    PlannedShard shard = *slot.place.shard;
    shard.staged_as = PartDirectory::staged_as(slot.number);
    return moves_of_shard(options_, *slot.place.dataset, shard);
  }

  void write_one(Slot& slot) {
    const std::vector<Replacement::Move> moves = staged_moves(slot);
    FinishedShard finished =
        write_planned(plan_, options_, *source_, slot.number, directory_->path_of(moves.back().first), progress_);
    try {
      publish(slot, finished, moves);
    } catch (...) {
      for (const Replacement::Move& move : moves) ::unlink(directory_->path_of(move.first).c_str());
      throw;
    }
    slot.finished = std::move(finished);
  }

  /// Records the shard and gives its files their final names, the shard itself last.
  void publish(const Slot& slot, const FinishedShard& finished, const std::vector<Replacement::Move>& moves) {
    const std::string name = directory_->record(slot.number, finished);
    for (const Replacement::Move& move : moves) {
      const std::string path = join_path(options_.destination, move.second);
      if (finished.shard.num_samples != 0) {
        publish_rename(directory_->path_of(move.first), path);
      } else {
        ::unlink(path.c_str());  // of an earlier attempt, which read a sample that cannot be read any more
      }
    }
    for (const std::string& stale : slot.stale) {
      if (stale != name) directory_->remove_record(stale);
    }
  }

  /// Removes what killed attempts left, and notices attempts that wrote other bytes at the same time.
  void clear_away() {
    const PartDirectory::Records records = own_records();
    for (const Slot& slot : slots_) {
      const auto found = records.find(slot.number);
      if (found != records.end() && found->second.size() > 1) {
        throw Error(ErrorCode::retryable, "another attempt at this shard wrote other bytes at the same time",
                    {.path = final_path(slot), .hint = "run this part again, alone"});
      }
      directory_->remove_staged(slot.number, slot.place.dataset->subdirectory);
    }
    if (!finished_manifests(options_, plan_.plan()).empty()) PartDirectory::remove(plan_);  // merged in the meantime
  }

  PartReport report() const { return report_of_part(options_.destination, slots_, num_resumed_, is_merged_); }

  const PlanFile& plan_;
  const PackOptions& options_;
  const unsigned jobs_;
  Progress& progress_;
  std::vector<Slot> slots_;
  std::unique_ptr<SavedSource> source_;
  std::optional<PartDirectory> directory_;
  bool is_merged_ = false;
  std::atomic<std::uint64_t> num_resumed_{0};
};

}  // namespace

std::pair<std::uint64_t, std::uint64_t> shards_of_part(std::uint64_t part, std::uint64_t parts,
                                                       std::uint64_t num_shards) {
  // The product may have more than 64 bits.
  const auto start = [&](std::uint64_t number) {
    return num_shards / parts * number + num_shards % parts * number / parts;
  };
  return {start(part), start(part + 1)};
}

std::vector<std::uint64_t> chosen_shards(const PlanFile& plan, const PartChoice& choice) {
  const auto refuse = [&](const std::string& why, std::string hint) {
    throw Error(ErrorCode::invalid_argument, why, {.path = plan.path(), .hint = std::move(hint)});
  };
  std::vector<std::uint64_t> chosen;
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t number = begin; number < end; ++number) chosen.push_back(number);
  };
  if (choice.part) {
    constexpr std::uint64_t k_max_parts = std::uint64_t{1} << 31;
    const auto [part, parts] = *choice.part;
    if (parts == 0 || parts > k_max_parts || part >= parts) {
      refuse(fmt::format("there is no part {} of {}", part, parts), "parts are numbered from 0: `part` 0/4 to 3/4");
    }
    const auto [begin, end] = shards_of_part(part, parts, plan.num_shards());
    add(begin, end);
    return chosen;
  }
  for (const auto& [first, last] : choice.shards) {
    if (first > last || last >= plan.num_shards()) {
      refuse(fmt::format("the plan has no shards {}..{}", first, last),
             fmt::format("its shards are 0..{}", plan.num_shards() - 1));
    }
    add(first, last + 1);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::vector<std::uint64_t> missing_parts_of(const std::vector<std::uint64_t>& missing_shards, std::uint64_t parts,
                                            std::uint64_t num_shards) {
  std::vector<std::uint64_t> missing_parts;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const auto [begin, end] = shards_of_part(part, parts, num_shards);
    const auto missing = std::lower_bound(missing_shards.begin(), missing_shards.end(), begin);
    if (missing != missing_shards.end() && *missing < end) missing_parts.push_back(part);
  }
  return missing_parts;
}

std::vector<Replacement::Move> files_of_place(const PlanFile& plan, const PlanFile::Place& place) {
  return moves_of_shard(plan.options(), *place.dataset, *place.shard);
}

PartReport pack_part(const std::string& plan, const PartChoice& choice, unsigned jobs, Progress& progress,
                     const std::string& staging_directory) {
  const PlanFile opened = PlanFile::open(plan);
  use_url_storage();
  require_local_name(opened.options().destination, UrlUse::packing);
  const std::vector<std::uint64_t> shards = chosen_shards(opened, choice);
  const std::uint64_t parts = choice.part ? choice.part->second : 0;
  if (!is_object_store(opened.options().destination)) return PartPacker(opened, shards, jobs, progress).run(parts);
  opened.require_directory();
  PackOptions options = opened.options();
  options.jobs = jobs;
  options.staging_directory = staging_directory;
  const std::unique_ptr<SavedSource> source = SavedSource::open(opened.source_head());
  require_object_options(source->begin_rows()->finish()->places(), options);
  const auto write = [&](std::uint64_t number, const std::string& staged) {
    return write_planned(opened, options, *source, number, staged, progress);
  };
  return pack_object_part(opened, shards, parts, options, write, progress);
}

PackPreview preview_part(const std::string& plan, const PartChoice& choice) {
  const PlanFile opened = PlanFile::open(plan);
  use_url_storage();
  require_local_name(opened.options().destination, UrlUse::packing);
  opened.require_directory();
  if (is_object_store(opened.options().destination)) {
    require_may_join_objects(opened);
  } else if (finished_manifests(opened.options(), opened.plan()).empty()) {
    require_no_overlap(SavedSource::open(opened.source_head())->begin_rows()->finish()->places(),
                       opened.options().destination);
    PartDirectory::require_may_make(opened);
  }
  PackPreview preview;
  for (const std::uint64_t number : chosen_shards(opened, choice)) {
    const auto& [dataset, shard] = opened.place(number);
    const std::string file =
        dataset->subdirectory.empty() ? shard->file : join_path(dataset->subdirectory, shard->file);
    preview.shards.push_back({file, shard->end - shard->begin, shard->bytes});
  }
  return preview;
}

}  // namespace bale
