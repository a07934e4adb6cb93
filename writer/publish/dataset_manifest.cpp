#include "bale/writer/publish/dataset_manifest.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/reader/dataset/class_merge.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/journal/journal_lines.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/shard/quarantine.hpp"

namespace bale {
namespace {

/// Copies of the files of samples that the source left out, if bad samples are copied.
std::vector<std::string> copies_of(const SourceLoss& loss, const PackOptions& options, const PlannedDataset& dataset) {
  if (options.on_error != OnError::quarantine || loss.files.empty()) return {};
  const std::string staged = join_path(join_path(options.destination, k_partial_name), "lost.quarantined");
  return Quarantine().add(dataset_directory(options, dataset), loss.files, staged);
}

std::string label_base_of(const PackOptions& options) {
  const auto given = options.format_options.find("label_base");
  return given == options.format_options.end() || given->second == "0" ? std::string() : given->second;
}

/// Adds up what the finished shards of a dataset say, and publishes its manifest and the files next to it.
class DatasetManifest {
 public:
  /// `report` gets what is added. All arguments must outlive this object.
  DatasetManifest(const PackOptions& options, const Plan& plan, const PlannedDataset& dataset,
                  const ManifestFacts& facts, RunStore& store, PackReport& report)
      : options_(options), plan_(plan), dataset_(dataset), facts_(facts), report_(report) {
    // Edits of this run take precedence.
    std::map<std::string, std::string> edits = describe_edits(options.edits, !options.format.layout->keeps_bytes);
    edits.insert(facts.earlier_edits.begin(), facts.earlier_edits.end());
    manifest_ = {.name = dataset.name,
                 .format = std::string(options.format.format->name),
                 .layout = std::string(options.format.layout->name),
                 .classes = facts.classes,
                 .removals = facts.removals,
                 .edits = std::move(edits),
                 .keys = facts.keys,
                 .label_base = label_base_of(options),
                 .plan = plan.fingerprint,
                 .created_by = fmt::format("bale {}", version())};
    if (plan.base) begin_with(*plan.base, plan.rewritten ? &*plan.rewritten : nullptr, store);
    if (plan.base) manifest_.next_shard = plan.next_shard;
  }

  /// A sample that no shard has left out.
  void leave_out(const SkippedSample& sample) {
    manifest_.num_skipped += sample.num_samples.value_or(1);
    ledger_ += skipped_to_json(sample).dump({.sorted = true}) + "\n";
    report_.skipped.push_back(sample);
  }

  /// Call it in the order of the shards.
  void add(const FinishedShard& finished) {
    manifest_.num_samples += finished.shard.num_samples;
    // A shard without samples has no file: not every reader accepts an empty one.
    const std::size_t number = num_added_++;
    if (finished.shard.num_samples != 0 && rewritten_ == nullptr) manifest_.shards.push_back(finished.shard);
    if (finished.shard.num_samples != 0 && rewritten_ != nullptr)
      placed_.emplace(rewritten_->places[number], finished.shard);
    for (const ManifestField& field : finished.fields) add_field(field);
    for (const SkippedSample& sample : finished.skipped) leave_out(sample);
    for (const auto& [kind, count] : finished.undecodable) report_.undecodable[kind] += count;
    for (const auto& [kind, count] : finished.jpegs) report_.jpegs[kind] += count;
    report_.num_bytes += finished.shard.bytes;
  }

  /// Publishes lists, ledger and manifest, and of a dataset that was added to the manifest that is replaced. Call it
  /// once, after all others.
  void publish(RunStore& store) {
    if (base_ != nullptr) publish_older(store);
    for (const NewFile& file : plan_.files) store.publish_file(dataset_, file.name, file.text);
    for (const ShardList& list : lists_of(*options_.format.layout, options_.sidecars)) {
      manifest_.lists.emplace_back(list.file);
      publish_list(store, dataset_, manifest_, list);
    }
    if (!ledger_.empty()) manifest_.num_skipped = std::max<std::uint64_t>(manifest_.num_skipped, 1);
    if (!ledger_.empty()) store.publish_file(dataset_, k_ledger_name, ledger_);
    store.publish_manifest(dataset_, manifest_text(manifest_));
    report_.num_samples += base_ != nullptr ? num_written_ : manifest_.num_samples;
    report_.outputs.push_back({dataset_directory(options_, dataset_), std::move(manifest_)});
  }

 private:
  /// Completes what the manifest says of its history, and publishes the manifests of older versions, or what stays of
  /// those that go.
  void publish_older(RunStore& store) {
    manifest_.change.num_samples = manifest_.num_samples - num_kept_;
    if (rewritten_ != nullptr) place_shards();
    num_written_ = manifest_.change.num_samples;
    if (facts_.change) facts_.change(manifest_);
    if (version_id(manifest_) == base_->id) {  // the same content in other shards
      manifest_.parent = base_->manifest.parent;
      manifest_.change = base_->manifest.change;
    }
    bool base_is_gone = false;
    if (rewritten_ != nullptr) {
      for (GoneVersion gone : rewritten_->gone) {
        gone.why = purged_by(version_id(manifest_));
        base_is_gone = base_is_gone || gone.id == base_->id;
        store.publish_file(dataset_, kept_version(gone.id), gone_version_text(gone));
      }
    }
    if (base_is_gone) return;
    store.publish_file(dataset_, kept_version(base_->id),
                       text_to_keep(dataset_directory(options_, dataset_), base_->id, base_text_));
  }

  /// Shards that were written again come where those were that they replace.
  void place_shards() {
    std::vector<ManifestShard> shards;
    for (std::size_t number = 0; number < base_->manifest.shards.size(); ++number) {
      const auto [begin, end] = placed_.equal_range(number);
      for (auto placed = begin; placed != end; ++placed) shards.push_back(placed->second);
      if (!rewritten_->replaced.contains(number)) shards.push_back(base_->manifest.shards[number]);
    }
    manifest_.shards = std::move(shards);
  }

  /// Takes out of the counts what shards have that are written again.
  void leave_out_replaced(const std::string& directory) {
    const std::vector<ManifestShard>& shards = base_->manifest.shards;
    // If no shard is left, the fields still say how those that are added are stored.
    if (rewritten_->replaced.size() == shards.size() && !rewritten_->places.empty()) manifest_.fields.clear();
    for (const std::size_t number : rewritten_->replaced) {
      manifest_.num_samples -= shards[number].num_samples;
      if (manifest_.fields.empty()) continue;
      const ShardIndex index = ShardIndex::load(index_path(join_path(directory, shards[number].file)));
      for (const FieldInfo& field : index.fields()) {
        for (ManifestField& known : manifest_.fields) {
          if (known.name == field.name) known.stored_bytes -= std::min(known.stored_bytes, field.stored_bytes);
        }
      }
    }
  }

  /// What the version before has comes first.
  void begin_with(const BaseVersion& base, const RewrittenShards* rewritten, RunStore& store) {
    const std::string directory = dataset_directory(options_, dataset_);
    base_ = &base;
    const std::string path = join_path(directory, k_manifest_name);
    base_text_ = store.text_of(dataset_, k_manifest_name);
    const Manifest& before = base.manifest;
    manifest_.num_samples = before.num_samples;
    manifest_.num_skipped = before.num_skipped;
    manifest_.fields = before.fields;
    manifest_.shards = before.shards;
    manifest_.layers = before.layers;  // facts.change() has what a rewriting leaves of them
    manifest_.removals = parse_manifest(base_text_, path).removals;  // they may have become more since
    manifest_.edits = merge_edits({before.edits, manifest_.edits});
    manifest_.parent = base.id;
    manifest_.change = {.verb = rewritten == nullptr ? "add" : "rewrite", .message = options_.change_message};
    rewritten_ = rewritten;
    if (rewritten != nullptr) leave_out_replaced(directory);
    num_kept_ = manifest_.num_samples;
    if (before.num_skipped != 0) ledger_ = store.text_of(dataset_, k_ledger_name);
  }

  /// Union of the shards' fields, in order of first appearance.
  void add_field(const ManifestField& field) {
    const auto known = std::find_if(manifest_.fields.begin(), manifest_.fields.end(),
                                    [&](const ManifestField& other) { return other.name == field.name; });
    if (known == manifest_.fields.end()) {
      manifest_.fields.push_back(field);
    } else {
      known->stored_bytes += field.stored_bytes;
    }
  }

  const PackOptions& options_;
  const Plan& plan_;
  const PlannedDataset& dataset_;
  const ManifestFacts& facts_;
  PackReport& report_;
  Manifest manifest_;
  std::string ledger_;
  const BaseVersion* base_ = nullptr;
  const RewrittenShards* rewritten_ = nullptr;
  std::multimap<std::size_t, ManifestShard> placed_;  // shards that were written again, by their places
  std::size_t num_added_ = 0;
  std::uint64_t num_kept_ = 0;  // samples in shards of the base that stay
  std::uint64_t num_written_ = 0;
  std::string base_text_;  // its manifest, as it is
};

}  // namespace

PackReport report_of_earlier_run(const PackOptions& options, const Plan& plan, std::vector<Manifest> manifests,
                                 std::uint64_t num_resumed_shards, std::uint64_t num_repaired_shards) {
  PackReport report{.num_resumed_shards = num_resumed_shards, .num_repaired_shards = num_repaired_shards};
  for (std::size_t number = 0; number < manifests.size(); ++number) {
    Manifest& manifest = manifests[number];
    report.num_samples += manifest.num_samples;
    for (const ManifestShard& shard : manifest.shards) report.num_bytes += shard.bytes;
    report.outputs.push_back({dataset_directory(options, plan.datasets[number]), std::move(manifest)});
  }
  return report;
}

void publish_list(RunStore& store, const PlannedDataset& dataset, const Manifest& manifest, const ShardList& list) {
  std::vector<ListedShard> shards;
  for (const ManifestShard& shard : manifest.shards) shards.push_back({shard.file, shard.num_stored(), shard.bytes});
  store.publish_file(dataset, std::string(list.file), list.text(manifest.name, shards));
}

void require_samples(const PackOptions& options, const Plan& plan, const FinishedShards& finished) {
  for (std::size_t number = 0; number < finished.size(); ++number) {
    const SkippedSample* first = nullptr;
    std::uint64_t num_samples = 0;
    std::uint64_t num_planned = 0;
    for (const PlannedShard& shard : plan.datasets[number].shards) num_planned += shard.end - shard.begin;
    for (const FinishedShard& shard : finished[number]) {
      num_samples += shard.shard.num_samples;
      if (first == nullptr && !shard.skipped.empty()) first = &shard.skipped.front();
    }
    if (num_samples != 0 || first == nullptr) continue;
    throw Error(ErrorCode::damaged,
                fmt::format("all {} samples were skipped, the first because: {}", num_planned, first->why),
                {.path = dataset_directory(options, plan.datasets[number]), .hint = "look at the source"});
  }
}

ManifestFacts facts_of(const Source& source) {
  return {source.classes(), source.edits(), source.key_form(), source.losses()};
}

PackReport publish_manifests(const ManifestFacts& facts, const PackOptions& options, const Plan& plan,
                             const FinishedShards& finished, RunStore& store) {
  PackReport report;
  for (std::size_t number = 0; number < finished.size(); ++number) {
    DatasetManifest manifest(options, plan, plan.datasets[number], facts, store, report);
    if (report.outputs.empty()) {  // it is not known which split the lost samples belong to
      for (const SourceLoss& loss : facts.losses) {
        manifest.leave_out({.origin = loss.path,
                            .why = loss.why,
                            .quarantined = copies_of(loss, options, plan.datasets[number]),
                            .num_samples = loss.num_samples});
      }
      for (const SkippedSample& sample : facts.skipped) manifest.leave_out(sample);
    }
    for (const FinishedShard& shard : finished[number]) manifest.add(shard);
    manifest.publish(store);
  }
  report.replaced = store.finish(finished);
  return report;
}

}  // namespace bale
