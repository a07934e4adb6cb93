// pack_part(): packs some shards of a plan.
#include "bale/writer/run/part.hpp"

#include <numeric>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/part_choice.hpp"
#include "bale/writer/publish/destination.hpp"
#include "bale/writer/run/objects/object_decision.hpp"
#include "bale/writer/run/objects/object_run_store.hpp"
#include "bale/writer/run/part_directory.hpp"
#include "bale/writer/run/run.hpp"
#include "bale/writer/shard/quarantine.hpp"
#include "bale/writer/shard/shard_job.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace bale {
namespace {

FinishedShard write_planned(const PlanFile& plan, const PackOptions& options, const SavedSource& saved,
                            const Slot& slot, const std::string& staged, Progress& progress) {
  std::unique_ptr<SavedRows> rows = saved.begin_rows();
  plan.read_rows(slot.number, [&](std::string_view row) { rows->add(row); });
  const std::unique_ptr<Source> source = rows->finish();
  PlannedDataset dataset{.name = slot.dataset->name,
                         .subdirectory = slot.dataset->subdirectory,
                         .order = std::vector<std::uint32_t>(source->size()),
                         .shards = {}};
  std::iota(dataset.order.begin(), dataset.order.end(), std::uint32_t{0});
  const PlannedShard shard{.file = slot.shard.file, .begin = 0, .end = source->size(), .bytes = slot.shard.bytes};
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

}  // namespace

PlanFile open_plan(const std::string& path) {
  PlanFile plan = PlanFile::open(path);
  require_local_name(plan.options().destination, UrlUse::packing);
  return plan;
}

std::unique_ptr<PartStore> open_part_store(const PlanFile& plan, const PackOptions& options, std::uint64_t parts,
                                           const Progress& progress) {
  plan.require_directory();
  if (!is_object_store(options.destination)) return std::make_unique<PartDirectory>(plan, options, parts);
  return std::make_unique<ObjectRunStore>(options, plan, parts, progress);
}

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
    require_no_overlap(SavedSource::open(opened.source_head())->begin_rows()->finish()->places(),
                       opened.options().destination);
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

}  // namespace bale
