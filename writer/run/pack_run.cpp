#include "bale/writer/run/pack_run.hpp"

#include <memory>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/run/journal_store.hpp"
#include "bale/writer/run/objects/object_decision.hpp"
#include "bale/writer/run/objects/object_run_store.hpp"
#include "bale/writer/run/run.hpp"
#include "bale/writer/shard/shard_job.hpp"

namespace bale {
namespace {

std::unique_ptr<RunStore> open_store(const PackWork& work, const PackOptions& options, const Progress& progress) {
  require_apart(work.places, options);
  if (is_object_store(options.destination)) return std::make_unique<ObjectRunStore>(options, work.plan, progress);
  return std::make_unique<JournalStore>(options, work.plan, work.samples, progress);
}

class Packer {
 public:
  Packer(const PackWork& work, const PackOptions& options, Progress& progress)
      : work_(work),
        options_(options),
        store_(open_store(work, options, progress)),
        run_(*store_, options, slots_of(plan_), progress) {}

  PackReport pack() {
    std::vector<Manifest> found = store_->manifests();
    if (!found.empty()) {
      run_.adopt_published(plan_, found, CheckDepth::content);
      if (run_.is_complete() && has_all_lists(found)) return report_of_published(std::move(found));
    }
    const bool is_adopted = !found.empty();
    found = store_->begin(run_.slots());  // looks again, now that no other run changes it
    try {
      if (found.empty()) {
        run_.adopt_recorded(CheckDepth::content);
      } else if (!is_adopted) {
        run_.adopt_published(plan_, found, CheckDepth::content);
      }
      return finish(std::move(found));
    } catch (const Error& error) {
      throw resumable(error, plan_.rewritten ? DestinationMode::resume : options_.mode);
    }
  }

 private:
  PackReport finish(std::vector<Manifest> published) {
    const FinishedShards finished = write_remaining(!published.empty());
    if (!published.empty()) {
      for (std::size_t number = 0; number < published.size(); ++number) mend_lists(number, published[number]);
      return report_of_published(std::move(published));
    }
    PackReport report = publish_manifests(work_.facts, options_, plan_, finished, *store_);
    report.num_resumed_shards = run_.num_resumed();
    return report;
  }

  FinishedShards write_remaining(bool mends) {
    try {
      if (work_.stage && !mends) work_.stage(*store_);  // values that cannot be read stop it before the shards
      run_.write_remaining(work_.write);
      FinishedShards finished = run_.finished(plan_);
      if (!mends) require_samples(options_, plan_, finished);
      return finished;
    } catch (const Error& error) {
      store_->abandon(&error);
      throw;
    } catch (...) {
      store_->abandon(nullptr);
      throw;
    }
  }

  /// Whether all files of published datasets other than their shards are there.
  bool has_all_lists(const std::vector<Manifest>& published) const {
    for (std::size_t number = 0; number < published.size(); ++number) {
      const PlannedDataset& dataset = plan_.datasets[number];
      for (const std::string& list : published[number].lists) {
        if (!store_->has_file(dataset, list)) return false;
      }
      if (published[number].num_skipped != 0 && !store_->has_file(dataset, k_ledger_name)) return false;
    }
    return true;
  }

  /// Writes the missing lists of a published dataset whose shards are all there.
  void mend_lists(std::size_t number, const Manifest& manifest) {
    const PlannedDataset& dataset = plan_.datasets[number];
    for (const ShardList& list : lists_of(*options_.format.layout, options_.sidecars)) {
      if (!store_->has_file(dataset, std::string(list.file))) publish_list(*store_, dataset, manifest, list);
    }
    if (manifest.num_skipped != 0 && !store_->has_file(dataset, k_ledger_name)) {
      throw Error(ErrorCode::damaged, "the list of skipped samples is missing",
                  {.path = join_path(dataset_directory(options_, dataset), k_ledger_name),
                   .hint = "pack everything again with `overwrite`"});
    }
  }

  PackReport report_of_published(std::vector<Manifest> published) {
    store_->clear();
    const std::uint64_t num_resumed = run_.num_resumed();
    return report_of_earlier_run(options_, plan_, std::move(published), num_resumed, run_.slots().size() - num_resumed);
  }

  const PackWork& work_;
  const PackOptions& options_;
  const Plan& plan_ = work_.plan;
  const std::unique_ptr<RunStore> store_;
  Run run_;
};

}  // namespace

PackReport pack_planned(const PackWork& work, const PackOptions& options, Progress& progress) {
  return Packer(work, options, progress).pack();
}

std::string_view on_error_name(OnError policy) {
  switch (policy) {
    case OnError::fail:
      return "fail";
    case OnError::skip:
      return "skip";
    case OnError::quarantine:
      return "quarantine";
  }
  return "unknown";
}

PackReport pack_source(const Source& source, Plan plan, const PackOptions& options, Progress& progress,
                       const VersionChange& change) {
  Quarantine quarantine;
  const auto write = [&](const Slot& slot, const std::string& staged) {
    const ShardJob job{.source = source,
                       .options = options,
                       .dataset = *slot.dataset,
                       .shard = slot.shard,
                       .quarantine = quarantine,
                       .staged_path = staged};
    return write_shard(job, progress);
  };
  PackWork work{
      .plan = std::move(plan), .places = source.places(), .facts = facts_of(source), .samples = {}, .write = write};
  work.facts.change = change.apply;
  work.stage = change.stage;
  work.samples = samples_of(source, work.plan);
  note_sizing(options, work.plan);
  return pack_planned(work, options, progress);
}

PackReport pack(const Source& source, const PackOptions& options, Progress& progress) {
  require_local_name(options.destination, UrlUse::packing);
  return pack_source(source, make_plan(source, options), options, progress);
}

}  // namespace bale
