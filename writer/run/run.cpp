#include "bale/writer/run/run.hpp"

#include <algorithm>
#include <map>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/writer/plan/dataset_files.hpp"

namespace bale {
namespace {

// Two jobs per core: while one waits for its shard to become durable, another uses the core.
constexpr unsigned k_writing_jobs = 2;
constexpr unsigned k_reading_jobs = 1;
constexpr unsigned k_looking_jobs = 4;  // for small reads

}  // namespace

unsigned jobs_or(unsigned jobs, unsigned per_core) { return jobs != 0 ? jobs : per_core * usable_cores(); }

Run::Run(RunStore& store, const PackOptions& options, std::vector<Slot> slots, Progress& progress)
    : store_(store), options_(options), progress_(progress), slots_(std::move(slots)) {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  for (const Slot& slot : slots_) {
    samples += slot.shard.end - slot.shard.begin;
    bytes += slot.shard.bytes;
  }
  progress_.total_samples = samples;
  progress_.total_bytes = bytes;
  progress_.total_shards = slots_.size();
}

ShardRecords Run::records() const {
  return store_.records([this](std::uint64_t number) {
    return std::binary_search(slots_.begin(), slots_.end(), Slot{.number = number},
                              [](const Slot& a, const Slot& b) { return a.number < b.number; });
  });
}

void Run::adopt_recorded(CheckDepth depth) {
  for (Slot& slot : slots_) slot.expected_digest.reset();
  adopt(records(), depth);
}

void Run::adopt_published(const Plan& plan, const std::vector<Manifest>& published, CheckDepth depth) {
  std::map<std::string, const ManifestShard*> known;  // by name below the destination
  for (std::size_t number = 0; number < published.size(); ++number) {
    for (const ManifestShard& shard : published[number].shards) {
      known[below_destination(plan.datasets[number].subdirectory, shard.file)] = &shard;
    }
  }
  ShardRecords records;
  for (Slot& slot : slots_) {
    FinishedShard finished{.subdirectory = slot.dataset->subdirectory, .shard = {.file = slot.shard.file}};
    const auto found = known.find(below_destination(slot.dataset->subdirectory, slot.shard.file));
    if (found != known.end()) finished.shard = *found->second;
    slot.expected_digest = finished.shard.digest;
    records[slot.number].push_back({.finished = std::move(finished)});
  }
  adopt(std::move(records), depth);
}

void Run::adopt(ShardRecords records, CheckDepth depth) {
  progress_.samples = 0;
  progress_.bytes = 0;
  progress_.skipped = 0;
  progress_.shards = 0;
  const unsigned jobs = jobs_or(options_.jobs, depth == CheckDepth::content ? k_reading_jobs : k_looking_jobs);
  run_parallel(slots_.size(), jobs, [&](std::size_t i) {
    progress_.throw_if_stopped();
    Slot& slot = slots_[i];
    slot.finished.reset();
    slot.stale.clear();
    const auto found = records.find(slot.number);
    slot.is_resumed =
        found != records.end() && found->second.size() == 1 && store_.is_intact(slot, found->second.front(), depth);
    if (slot.is_resumed) {
      slot.finished = std::move(found->second.front().finished);
      progress_.samples += slot.shard.end - slot.shard.begin;
      progress_.bytes += slot.shard.bytes;
      progress_.skipped += slot.finished->skipped.size();
      progress_.shards += 1;
    } else if (found != records.end()) {
      for (ShardRecord& record : found->second) {
        if (!record.name.empty()) slot.stale.push_back(std::move(record.name));
      }
    }
  });
}

void Run::require_merged(const Plan& plan, const std::vector<Manifest>& published, CheckDepth depth) {
  adopt_published(plan, published, depth);
  for (const Slot& slot : slots_) {
    if (slot.finished) continue;
    throw Error(
        ErrorCode::damaged, "the shard is not what was merged",
        {.path = final_path(options_, slot), .hint = "repair it with `bale pack --resume` and the plan's options"});
  }
}

void Run::write_remaining(const WriteShard& write) {
  std::vector<Slot*> remaining;
  for (Slot& slot : slots_) {
    if (!slot.finished) remaining.push_back(&slot);
  }
  run_parallel(
      remaining.size(), jobs_or(options_.jobs, k_writing_jobs),
      [&](std::size_t i) {
        try {
          write_one(*remaining[i], write);
        } catch (const Error& error) {
          // Another attempt may have finished the shard, and removed the temporary files of this one.
          if (error.code() == ErrorCode::changed || error.code() == ErrorCode::interrupted) throw;
          remaining[i]->finished = store_.made_by_another(*remaining[i]);
          if (!remaining[i]->finished) throw;
        }
        progress_.shards += 1;
      },
      [&] { progress_.stop = true; });
}

void Run::write_one(Slot& slot, const WriteShard& write) {
  FinishedShard finished = store_.write(slot, write);
  if (slot.expected_digest && finished.shard.digest != *slot.expected_digest) {
    throw Error(ErrorCode::changed, "is missing or damaged, and its samples are not what they were",
                {.path = final_path(options_, slot), .hint = "pack everything again with `overwrite`"});
  }
  const std::string record = store_.publish(slot, finished);
  for (const std::string& stale : slot.stale) {
    if (stale != record) store_.forget(stale);
  }
  slot.finished = std::move(finished);
}

bool Run::is_complete() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.finished.has_value(); });
}

std::uint64_t Run::num_resumed() const {
  return static_cast<std::uint64_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.is_resumed; }));
}

FinishedShards Run::finished(const Plan& plan) const {
  FinishedShards finished(plan.datasets.size());
  for (const Slot& slot : slots_) {
    finished[static_cast<std::size_t>(slot.dataset - plan.datasets.data())].push_back(*slot.finished);
  }
  return finished;
}

}  // namespace bale
