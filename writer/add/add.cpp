#include "bale/writer/add.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/add/addition.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/run/objects/object_destination.hpp"
#include "bale/writer/run/pack_run.hpp"

namespace bale {
namespace {

/// Removes what is left of a run that published the current version.
void clear_after_publishing(const PackOptions& options, const Manifest& current) {
  if (is_object_store(options.destination)) {
    end_decided_run(*ObjectStore::open(options.destination), current);
  } else {
    Journal::open(options.destination).remove();
  }
}

/// The report of a run that had published its version when it was killed; nullopt if the current one is of another run.
std::optional<PackReport> report_if_published(Addition& addition, const Manifest& current, const PackOptions& options,
                                              Progress& progress) {
  const std::string base = join_path(options.destination, kept_version(current.parent));
  if (current.change.verb != "add" || !path_exists(base)) return std::nullopt;
  const std::string text(as_text(read_file(base)));
  if (parse_gone_version(text) || !addition.fit(parse_manifest(text, base), progress)) return std::nullopt;
  const Plan plan = addition.plan();
  if (plan.fingerprint != current.plan) return std::nullopt;
  clear_after_publishing(options, current);
  PackReport report{.outputs = {{options.destination, current}},
                    .num_samples = current.change.num_samples,
                    .num_resumed_shards = plan.datasets.front().shards.size(),
                    .added = addition.added()};
  report.added->version = version_id(current);
  return report;
}

}  // namespace

PackReport add(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules, Progress& progress) {
  finish_replacement_at(options);
  Addition addition(std::move(source), options, rules);
  Manifest current = manifest_to_change(options.destination);
  const bool is_object = is_object_store(options.destination);
  if (options.mode == DestinationMode::resume && (is_object || Journal::look(options.destination).good_bytes == 0)) {
    if (auto report = report_if_published(addition, current, options, progress)) return *std::move(report);
  }
  if (!addition.fit(std::move(current), progress)) {
    AddedSamples added = addition.added();
    added.version = added.parent;
    added.new_classes.clear();
    return {.outputs = {{options.destination, addition.base()}}, .added = std::move(added)};
  }
  Plan plan = addition.plan();
  PackReport report = pack_source(addition.source(), std::move(plan), options, progress);
  addition.added().version = version_id(report.outputs.front().manifest);
  report.added = std::move(addition.added());
  return report;
}

PackPreview preview_add(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules,
                        Progress& progress) {
  Addition addition(std::move(source), options, rules);
  if (!addition.fit(manifest_to_change(options.destination), progress)) return {};
  const Plan plan = addition.plan();
  note_sizing(options, plan);
  require_may_add(options, plan, samples_of(addition.source(), plan));
  return preview_of(addition.source(), options, plan);
}

}  // namespace bale
