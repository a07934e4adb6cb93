// merge_parts(): the end of packing on many machines.

#include "bale/formats/base/error.hpp"
#include "bale/writer/plan/part_choice.hpp"
#include "bale/writer/publish/dataset_manifest.hpp"
#include "bale/writer/run/part.hpp"
#include "bale/writer/run/run.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {
namespace {

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

MergeReport merge_parts(const std::string& plan, std::uint64_t parts, unsigned jobs, Progress& progress) {
  const PlanFile opened = open_plan(plan);
  PackOptions options = opened.options();
  options.jobs = jobs;
  const std::unique_ptr<PartStore> store = open_part_store(opened, options, 0, progress);
  Run run(*store, options, slots_of(opened.plan()), progress);
  MergeReport report{.destination = options.destination, .num_shards = opened.num_shards()};
  if (take_published(opened, *store, run, report)) return report;
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
