// pack_part(), which packs some shards of a plan, and merge_parts(), the end of packing on many machines.
#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/publish/dataset_manifest.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/run/objects/object_decision.hpp"
#include "bale/writer/run/objects/object_run_store.hpp"
#include "bale/writer/run/part_directory.hpp"
#include "bale/writer/run/run.hpp"
#include "bale/writer/scale_out.hpp"
#include "bale/writer/shard/quarantine.hpp"
#include "bale/writer/shard/shard_job.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace bale {
namespace {

/// First shard of a part, and first of the next.
std::pair<std::uint64_t, std::uint64_t> shards_of_part(std::uint64_t part, std::uint64_t parts,
                                                       std::uint64_t num_shards) {
  // The product may have more than 64 bits.
  const auto start = [&](std::uint64_t number) {
    return num_shards / parts * number + num_shards % parts * number / parts;
  };
  return {start(part), start(part + 1)};
}

/// Numbers of the chosen shards, ascending, each once. Throws `invalid_argument`.
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

FinishedShard write_planned(const PlanFile& plan, const PackOptions& options, const SavedSource& saved,
                            const Slot& slot, const std::string& staged, Progress& progress) {
  std::unique_ptr<SavedRows> rows = saved.begin_rows();
  plan.read_rows(slot.number, [&](std::string_view row) { rows->add(row); });
  const std::unique_ptr<Source> source = rows->finish();
  const PlannedShard shard{.file = slot.shard.file, .begin = 0, .end = source->size(), .bytes = slot.shard.bytes};
  Quarantine quarantine;
  const ShardJob job{.source = *source,
                     .options = options,
                     .dataset = *slot.dataset,
                     .shard = shard,
                     .quarantine = quarantine,
                     .fixed_source = true,
                     .staged_path = staged};
  return write_shard(job, progress);
}

/// Whether the datasets are published. Then the shards are compared with their digests.
bool is_merged(const PlanFile& plan, PartStore& store, Run& run) {
  const std::vector<Manifest> manifests = store.manifests();
  if (manifests.empty()) return false;
  run.require_merged(plan.plan(), manifests, CheckDepth::content);
  return true;
}

/// Notices attempts that wrote other bytes at the same time, and removes what killed ones left. Returns whether the
/// datasets were published in the meantime.
bool leave(const PackOptions& options, PartStore& store, const Run& run) {
  store.refresh();
  const ShardRecords records = run.records();
  for (const Slot& slot : run.slots()) {
    const auto found = records.find(slot.number);
    if (found == records.end() || found->second.size() <= 1) continue;
    throw Error(ErrorCode::retryable, "another attempt at this shard wrote other bytes at the same time",
                {.path = final_path(options, slot), .hint = "run this part again, alone"});
  }
  store.remove_staged(run.slots());
  if (store.manifests().empty()) return false;
  store.clear();
  return true;
}

PartReport report_of(const std::string& destination, const Run& run, bool is_merged) {
  PartReport report{.destination = destination,
                    .is_merged = is_merged,
                    .num_shards = run.slots().size(),
                    .num_resumed_shards = run.num_resumed()};
  for (const Slot& slot : run.slots()) {
    report.num_samples += slot.finished->shard.num_samples;
    report.num_bytes += slot.finished->shard.bytes;
    report.skipped.insert(report.skipped.end(), slot.finished->skipped.begin(), slot.finished->skipped.end());
  }
  return report;
}

/// Packs what is missing. Returns whether the datasets were published in the meantime.
bool pack_slots(const PlanFile& plan, const PackOptions& options, PartStore& store, Run& run, Progress& progress) {
  const std::unique_ptr<SavedSource> source = SavedSource::open(plan.source_head());
  require_apart(source->begin_rows()->finish()->places(), options);
  store.begin(run.slots());
  run.adopt_recorded(CheckDepth::content);
  run.write_remaining([&](const Slot& slot, const std::string& staged) {
    return write_planned(plan, options, *source, slot, staged, progress);
  });
  return leave(options, store, run);
}

/// Opens a plan whose destination can be written to from here.
PlanFile open_plan(const std::string& path) {
  PlanFile plan = PlanFile::open(path);
  require_local_name(plan.options().destination, UrlUse::packing);
  return plan;
}

/// Where the parts of a plan are packed to. `parts`: how many there are, if the store is to note it; else 0. `options`
/// are those of the plan, with those of the run; all arguments must outlive the store.
std::unique_ptr<PartStore> open_part_store(const PlanFile& plan, const PackOptions& options, std::uint64_t parts,
                                           const Progress& progress) {
  plan.require_directory();
  if (!is_object_store(options.destination)) return std::make_unique<PartDirectory>(plan, options, parts);
  return std::make_unique<ObjectRunStore>(options, plan, parts, progress);
}

/// The parts of `parts` that have one of these shards, ascending; none if `parts` is 0.
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

/// Whether the datasets are published. Checks that their shards are there, and removes what a killed merge left.
bool take_published(const PlanFile& plan, PartStore& store, Run& run, MergeReport& report) {
  std::vector<Manifest> manifests = store.manifests();
  if (manifests.empty()) return false;
  run.require_merged(plan.plan(), manifests, CheckDepth::size);
  report.missing_shards.clear();
  std::uint64_t num_shards = 0;
  for (const Manifest& manifest : manifests) num_shards += manifest.shards.size();
  report.datasets = report_of_earlier_run(plan.options(), plan.plan(), std::move(manifests), num_shards, 0);
  store.clear();
  return true;
}

void name_missing_parts(PartStore& store, std::uint64_t parts, MergeReport& report) {
  const std::vector<std::uint64_t> noted = parts == 0 ? store.noted_parts() : std::vector{parts};
  report.num_parts = noted.size() == 1 ? noted.front() : 0;
  report.missing_parts = missing_parts_of(report.missing_shards, report.num_parts, report.num_shards);
}

PackReport publish(const PlanFile& plan, const PackOptions& options, PartStore& store, const Run& run) {
  const FinishedShards finished = run.finished(plan.plan());
  require_samples(options, plan.plan(), finished);
  PackReport report = publish_manifests(plan.facts(), options, plan.plan(), finished, store);
  report.num_resumed_shards = plan.num_shards();
  return report;
}

}  // namespace

PartReport pack_part(const std::string& plan, const PartChoice& choice, unsigned jobs, Progress& progress,
                     const std::string& staging_directory) {
  const PlanFile opened = open_plan(plan);
  PackOptions options = opened.options();
  options.jobs = jobs;
  options.staging_directory = staging_directory;
  std::vector<Slot> slots;
  for (const std::uint64_t number : chosen_shards(opened, choice)) {
    const auto& [dataset, shard] = opened.place(number);
    slots.push_back({.number = number, .dataset = dataset, .shard = *shard});
  }
  const std::unique_ptr<PartStore> store =
      open_part_store(opened, options, choice.part ? choice.part->second : 0, progress);
  Run run(*store, options, std::move(slots), progress);
  if (is_merged(opened, *store, run)) return report_of(options.destination, run, true);
  try {
    const bool was_merged = pack_slots(opened, options, *store, run, progress);
    return report_of(options.destination, run, was_merged);
  } catch (const Error& error) {
    // The merge removes what parts keep, if another attempt at this part was faster.
    if (error.code() == ErrorCode::changed || error.code() == ErrorCode::interrupted) throw;
    progress.stop = false;
    store->refresh();
    if (!is_merged(opened, *store, run)) throw;
    store->clear();
    return report_of(options.destination, run, true);
  }
}

PackPreview preview_part(const std::string& plan, const PartChoice& choice) {
  const PlanFile opened = open_plan(plan);
  opened.require_directory();
  if (is_object_store(opened.options().destination)) {
    require_may_join_objects(opened);
  } else if (finished_manifests(opened.options(), opened.plan()).empty()) {
    require_apart(SavedSource::open(opened.source_head())->begin_rows()->finish()->places(), opened.options());
    PartDirectory::require_may_begin(opened);
  }
  PackPreview preview;
  for (const std::uint64_t number : chosen_shards(opened, choice)) {
    const auto& [dataset, shard] = opened.place(number);
    preview.shards.push_back(
        {below_destination(dataset->subdirectory, shard->file), shard->end - shard->begin, shard->bytes});
  }
  return preview;
}

MergeReport merge_parts(const std::string& plan, std::uint64_t parts, unsigned jobs, Progress& progress) {
  const PlanFile opened = open_plan(plan);
  PackOptions options = opened.options();
  options.jobs = jobs;
  const std::unique_ptr<PartStore> store = open_part_store(opened, options, 0, progress);
  Run run(*store, options, slots_of(opened.plan()), progress);
  MergeReport report{.destination = options.destination, .num_shards = opened.num_shards()};
  if (take_published(opened, *store, run, report)) return report;
  store->begin_merge();
  run.adopt_recorded(CheckDepth::index);
  for (const Slot& slot : run.slots()) {
    report.payload_bytes += slot.shard.bytes;
    if (!slot.finished) report.missing_shards.push_back(slot.number);
  }
  if (!report.missing_shards.empty()) {
    store->refresh();
    if (!take_published(opened, *store, run, report))
      name_missing_parts(*store, parts, report);  // or merged in the meantime
    return report;
  }
  try {
    report.datasets = publish(opened, options, *store, run);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw;
    store->refresh();
    if (!take_published(opened, *store, run, report)) throw;  // another merge was faster, and removed what parts kept
  }
  return report;
}

}  // namespace bale
