#include "bale/writer/packer.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/core/entry_file.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/formats/core/parallel.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/formats/core/shard_name.hpp"
#include "bale/writer/destination.hpp"
#include "bale/writer/image_edits.hpp"
#include "bale/writer/journal.hpp"
#include "bale/writer/ledger.hpp"
#include "bale/writer/plan.hpp"
#include "bale/writer/shard_job.hpp"
#include "bale/writer/sidecars.hpp"
#include "bale_version.hpp"

namespace bale {
namespace {

/// One shard of the plan and, when it is done, its result.
struct Slot {
  const PlannedDataset* dataset;
  const PlannedShard* shard;
  std::optional<FinishedShard> finished{};
};

bool is_intact(const std::string& path, const ManifestShard& expected, bool entry_points) {
  try {
    if (entry_points && !EntryFile::load(entry_path(path)).records_are_whole()) return false;
    const ShardIndex index = ShardIndex::load(index_path(path));
    return index.digest() && digest_text(*index.digest()) == expected.digest &&
           File::open_read(path).size() == expected.bytes && digest_text(digest_file(path)) == expected.digest;
  } catch (const Error&) {
    return false;
  }
}

/// Two jobs a core: while one waits for its shard to be durable, another has work for the core.
unsigned default_jobs() { return 2 * usable_cores(); }

class Packer {
 public:
  Packer(const Source& source, const PackOptions& options, Progress& progress)
      : source_(source), options_(options), progress_(progress), plan_(make_plan(source, options)) {
    for (const PlannedDataset& dataset : plan_.datasets) {
      for (const PlannedShard& shard : dataset.shards) slots_.push_back({&dataset, &shard});
    }
    progress_.total_samples = plan_.num_samples;
    progress_.total_bytes = plan_.num_bytes;
    progress_.total_shards = slots_.size();
  }

  PackReport run() {
    std::optional<Journal> journal = prepare_destination(options_, plan_);
    if (!journal) return report_of_finished_run();
    journal_ = &*journal;
    take_up_finished_shards();
    try {
      write_remaining_shards();
    } catch (...) {
      // A recorded shard may have its final name already, even where the run failed before it knew so.
      if (Journal::published_files(options_.destination).empty()) abandon_destination(options_, plan_);
      throw;
    }
    PackReport report = write_manifests();
    Journal::remove(options_.destination);
    return report;
  }

 private:
  std::string final_path(const Slot& slot) const {
    return join_path(dataset_directory(options_, *slot.dataset), slot.shard->file);
  }

  /// Shards that an earlier run recorded are checked against their digest before they are believed.
  void take_up_finished_shards() {
    std::map<std::pair<std::string, std::string>, const FinishedShard*> recorded;
    for (const FinishedShard& finished : journal_->finished()) {
      require_same_policy(finished);
      recorded[{finished.subdirectory, finished.shard.file}] = &finished;
    }
    for (Slot& slot : slots_) {
      const auto found = recorded.find({slot.dataset->subdirectory, slot.shard->file});
      if (found == recorded.end() || !is_intact(final_path(slot), found->second->shard, options_.entry_points)) {
        continue;
      }
      if (!has_its_quarantined_files(*found->second)) continue;
      slot.finished = *found->second;
      ++num_resumed_;
      progress_.samples += slot.shard->end - slot.shard->begin;
      progress_.bytes += slot.shard->bytes;
      progress_.skipped += slot.finished->skipped.size();
      progress_.shards += 1;
    }
  }

  /// One ledger, one policy: a run that leaves samples out is resumed as it was begun.
  void require_same_policy(const FinishedShard& finished) const {
    const std::string_view policy = on_error_name(options_.on_error);
    if (finished.skipped.empty() || finished.on_error == policy) return;
    if (finished.on_error.empty() && options_.on_error == OnError::skip) return;
    const std::string begun = finished.on_error.empty() ? "skip" : finished.on_error;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the interrupted run left samples out under the policy \"{}\" for bad samples, not \"{}\"",
                            printable(begun), policy),
                {.path = options_.destination,
                 .hint = fmt::format("resume with --on-error {}, or start again with --overwrite", printable(begun))});
  }

  bool has_its_quarantined_files(const FinishedShard& finished) const {
    const std::string directory =
        finished.subdirectory.empty() ? options_.destination : join_path(options_.destination, finished.subdirectory);
    return std::all_of(finished.skipped.begin(), finished.skipped.end(), [&](const SkippedSample& sample) {
      return std::all_of(sample.quarantined.begin(), sample.quarantined.end(), [&](const std::string& copy) {
        return ::access(join_path(directory, copy).c_str(), F_OK) == 0;
      });
    });
  }

  void write_remaining_shards() {
    std::vector<Slot*> remaining;
    for (Slot& slot : slots_) {
      if (!slot.finished) remaining.push_back(&slot);
    }
    run_parallel(remaining.size(), options_.jobs != 0 ? options_.jobs : default_jobs(), [&](std::size_t number) {
      try {
        write_one(*remaining[number]);
      } catch (...) {
        progress_.stop = true;  // the shards that others are at will not be of use soon either
        throw;
      }
    });
  }

  void write_one(Slot& slot) {
    const std::string staged = journal_->staged_path(slot.dataset->subdirectory + slot.shard->file);
    const ShardJob job{source_, options_, *slot.dataset, *slot.shard, quarantine_, staged};
    FinishedShard finished = write_shard(job, progress_);
    journal_->record(finished);
    const std::string path = final_path(slot);
    const Layout& layout = *options_.format.layout;
    // The shard itself comes last: where it has its final name, all that belongs to it has.
    for (const Sidecar& sidecar : sidecars_of(layout, options_.sidecars)) {
      publish_rename(staged_sidecar(staged, sidecar), sidecar_path(path, layout, sidecar));
    }
    publish_rename(index_path(staged), index_path(path));
    if (options_.entry_points) publish_rename(entry_path(staged), entry_path(path));
    publish_rename(staged, path);
    slot.finished = std::move(finished);
    progress_.shards += 1;
  }

  PackReport write_manifests() {
    PackReport report{.num_resumed_shards = num_resumed_};
    for (const PlannedDataset& dataset : plan_.datasets) {
      const std::string directory = dataset_directory(options_, dataset);
      Manifest manifest = empty_manifest(dataset);
      std::string ledger;
      for (const Slot& slot : slots_) {
        if (slot.dataset != &dataset) continue;
        manifest.num_samples += slot.finished->shard.num_samples;
        manifest.num_skipped += slot.finished->skipped.size();
        manifest.shards.push_back(slot.finished->shard);
        add_fields(manifest, slot.finished->fields);
        for (const SkippedSample& sample : slot.finished->skipped) {
          ledger += skipped_to_json(sample).dump() + "\n";
          report.skipped.push_back(sample);
        }
        report.num_bytes += slot.finished->shard.bytes;
      }
      write_lists(directory, manifest);
      if (!ledger.empty()) publish(join_path(directory, k_ledger_name), ledger);
      publish(join_path(directory, k_manifest_name), manifest_text(manifest));
      report.num_samples += manifest.num_samples;
      report.outputs.push_back({directory, std::move(manifest)});
    }
    return report;
  }

  void write_lists(const std::string& directory, Manifest& manifest) const {
    std::vector<ListedShard> shards;
    for (const ManifestShard& shard : manifest.shards) shards.push_back({shard.file, shard.num_samples, shard.bytes});
    for (const ShardList& list : lists_of(*options_.format.layout, options_.sidecars)) {
      manifest.lists.emplace_back(list.file);
      publish(join_path(directory, manifest.lists.back()), list.text(manifest.name, shards));
    }
  }

  /// Until it is complete it is among the journal's files, which are removed with it whatever ended the run.
  void publish(const std::string& path, const std::string& text) const {
    const std::string staged = journal_->staged_path(base_name(path));
    write_durably(staged, as_bytes(text));
    publish_rename(staged, path);
  }

  /// Those of this run, over those that the source's images have been through already.
  std::map<std::string, std::string> edits() const {
    std::map<std::string, std::string> edits = describe_edits(options_.edits, !options_.format.layout->keeps_bytes);
    edits.merge(source_.edits());
    return edits;
  }

  Manifest empty_manifest(const PlannedDataset& dataset) const {
    return {.name = dataset.name,
            .format = std::string(options_.format.format->name),
            .layout = std::string(options_.format.layout->name),
            .classes = source_.classes(),
            .edits = edits(),
            .plan = plan_.fingerprint,
            .created_by = fmt::format("bale {}", k_version_text)};
  }

  /// Union of the shards' columns, in order of first appearance.
  static void add_fields(Manifest& manifest, const std::vector<ManifestField>& fields) {
    for (const ManifestField& field : fields) {
      const auto known = std::find_if(manifest.fields.begin(), manifest.fields.end(),
                                      [&](const ManifestField& other) { return other.name == field.name; });
      if (known == manifest.fields.end()) {
        manifest.fields.push_back(field);
      } else {
        known->stored_bytes += field.stored_bytes;
      }
    }
  }

  PackReport report_of_finished_run() {
    PackReport report{.num_resumed_shards = slots_.size()};
    for (const PlannedDataset& dataset : plan_.datasets) {
      const std::string directory = dataset_directory(options_, dataset);
      Manifest manifest = load_manifest(join_path(directory, k_manifest_name));
      report.num_samples += manifest.num_samples;
      for (const ManifestShard& shard : manifest.shards) report.num_bytes += shard.bytes;
      report.outputs.push_back({directory, std::move(manifest)});
    }
    return report;
  }

  const Source& source_;
  const PackOptions& options_;
  Progress& progress_;
  const Plan plan_;
  std::vector<Slot> slots_;
  Journal* journal_ = nullptr;
  Quarantine quarantine_;
  std::uint64_t num_resumed_ = 0;
};

}  // namespace

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

PackPreview preview_pack(const Source& source, const PackOptions& options) {
  PackPreview preview;
  for (const PlannedDataset& dataset : make_plan(source, options).datasets) {
    for (const PlannedShard& shard : dataset.shards) {
      const std::string file = dataset.subdirectory.empty() ? shard.file : join_path(dataset.subdirectory, shard.file);
      preview.shards.push_back({file, shard.end - shard.begin, shard.bytes});
    }
  }
  return preview;
}

PackReport pack(const Source& source, const PackOptions& options, Progress& progress) {
  return Packer(source, options, progress).run();
}

}  // namespace bale
