#include "bale/writer/edit.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/add/addition.hpp"
#include "bale/writer/change/layer_change.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/run/pack_run.hpp"

namespace bale {
namespace {

/// An edit of one change.
template <typename Make>
ChangeReport edit_once(const ChangeOptions& options, Progress& progress, const Make& make) {
  Edit edit(options.destination);
  ChangeReport report = make(edit);
  if (options.dry_run && !edit.is_empty()) return report;
  const ChangeReport published = edit.publish(options.message, progress);
  report.version = published.version;
  report.num_bytes = published.num_bytes;
  return report;
}

[[noreturn]] void refuse(std::string why, std::string hint) {
  throw Error(ErrorCode::invalid_argument, std::move(why), {.hint = std::move(hint)});
}

/// Shards of an edit are not continued as if they were all of it.
void mark_as_part_of_edit(Plan& plan) {
  DigestStream stream;
  stream.update(as_bytes(fmt::format("{}\nin an edit\n", plan.fingerprint)));
  plan.fingerprint = digest_text(stream.digest());
  plan.facts["edit"] = "yes";
}

/// Whether a version that an interrupted edit made of the same base has the same layers and removals as this one has.
bool has_same_changes(LayerChange& change, const Manifest& manifest, const Journal& journal, Progress& progress) {
  std::size_t number = 0;
  change.stage(
      [&](const WriteFile& write) { write(journal.path_of(Journal::staged_name(fmt::format("same-{}", number++)))); },
      progress);
  Manifest expected = change.base();
  change.apply(expected);
  const auto same_digest = [](const auto& a, const auto& b) { return a.digest == b.digest; };
  return std::equal(expected.layers.begin(), expected.layers.end(), manifest.layers.begin(), manifest.layers.end(),
                    same_digest) &&
         std::equal(expected.removals.begin(), expected.removals.end(), manifest.removals.begin(),
                    manifest.removals.end(), same_digest);
}

}  // namespace

/// The samples that an edit adds.
struct Edit::Adding {
  Addition addition;
  Plan plan{};
};

Edit::Edit(const std::string& directory) : change_(std::make_unique<LayerChange>(directory)) {}
Edit::~Edit() = default;
Edit::Edit(Edit&&) noexcept = default;
Edit& Edit::operator=(Edit&&) noexcept = default;

bool Edit::is_empty() const { return !adding_ && (!change_ || change_->is_empty()); }

ChangeReport Edit::publish(const std::string& message, Progress& progress) {
  LayerChange& change = this->change();
  ChangeReport report = adding_ ? publish_added(message, progress) : change.publish(message, progress);
  change_.reset();
  adding_.reset();
  return report;
}

ChangeReport Edit::add(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules,
                       Progress& progress) {
  LayerChange& change = this->change();
  if (adding_) refuse("the edit adds samples already", "name all in one list or table, or add them in the next edit");
  if (options.destination != change.directory()) {
    refuse("the options are of another dataset than the edit", "give those of options_to_add() for its directory");
  }
  if (rules.skip_existing && change.sets()) {
    refuse("`skip_existing` after labels or fields were set in the same edit",
           "it compares with the version before: add first");
  }
  if (options.mode == DestinationMode::overwrite) finish_replacement_at(options);
  auto adding = std::make_unique<Adding>(Adding{.addition = Addition(std::move(source), options, rules)});
  Addition& addition = adding->addition;
  const bool has_new = addition.fit(change.base(), progress, &change);
  ChangeReport report{.directory = change.directory(),
                      .verb = "add",
                      .parent = change.id(),
                      .num_unchanged = addition.added().num_existing,
                      .added = PackReport{.added = addition.added()}};
  if (!has_new) {
    report.added->added->new_classes.clear();
    report.num_left = change.report().num_left;
    return report;
  }
  Plan& plan = adding->plan = addition.plan();
  note_sizing(options, plan);
  addition.options().on_warning = {};
  const ListSamples samples = samples_of(addition.source(), plan);
  if (options.mode != DestinationMode::resume) require_may_add(addition.options(), plan, samples);
  AddedKeys added{.classes = addition.source().classes(),
                  .num_samples = plan.num_samples,
                  .num_shards = plan.datasets.front().shards.size()};
  samples([&](std::string_view key, std::uint64_t) { added.hashes.insert(hash_key(key)); });
  report.num_samples = report.added->num_samples = added.num_samples;
  report.num_shards = added.num_shards;
  change.note_added(std::move(added));
  report.num_left = change.report().num_left;
  adding_ = std::move(adding);
  return report;
}

ChangeReport Edit::publish_added(const std::string& message, Progress& progress) {
  LayerChange& change = this->change();
  Addition& addition = adding_->addition;
  addition.options().change_message = message;
  Plan plan = adding_->plan;
  if (!change.is_empty()) mark_as_part_of_edit(plan);
  ChangeReport report = change.report();
  report.added = report_if_decided(plan, progress);
  if (!report.added) {
    const VersionChange more{.stage =
                                 [&](RunStore& store) {
                                   change.require_base();
                                   change.stage([&](const WriteFile& write) { store.stage_file(write); }, progress);
                                 },
                             .apply = [&](Manifest& manifest) { change.apply(manifest); }};
    report.added = pack_source(addition.source(), std::move(plan), addition.options(), progress, more);
  }
  const Manifest& manifest = report.added->outputs.front().manifest;
  report.version = version_id(manifest);
  report.num_left = manifest.num_samples;
  report.num_samples = manifest.change.num_samples;
  report.num_bytes = report.added->num_bytes + change.num_staged_bytes();
  report.added->added = addition.added();
  report.added->added->version = report.version;
  return report;
}

/// If an interrupted edit, which is continued, had decided its version: carries that out. Throws `retryable` if its
/// other changes are not those of this edit.
std::optional<PackReport> Edit::report_if_decided(const Plan& plan, Progress& progress) {
  LayerChange& change = this->change();
  const PackOptions& options = adding_->addition.options();
  if (options.mode != DestinationMode::resume || is_object_store(options.destination)) return std::nullopt;
  const JournalContent left = Journal::look(options.destination);
  if (!left.replacement || left.plan != plan.fingerprint) return std::nullopt;
  Journal journal = Journal::open(options.destination);
  if (!journal.content().replacement) return std::nullopt;  // another run continued it in the meantime
  journal.finish_replacement();
  Manifest manifest = load_manifest(join_path(options.destination, k_manifest_name));
  const bool is_same = has_same_changes(change, manifest, journal, progress);
  journal.remove();
  if (!is_same) change.require_base();
  const std::uint64_t num_kept = change.report().num_left - plan.num_samples;
  PackReport report{.num_samples = manifest.num_samples - num_kept,
                    .num_resumed_shards = plan.datasets.front().shards.size()};
  report.outputs.push_back({options.destination, std::move(manifest)});
  return report;
}

LayerChange& Edit::change() {
  if (change_) return *change_;
  throw Error(ErrorCode::invalid_argument, "the edit was published", {.hint = "begin another one"});
}

ChangeReport remove(const RemovalChoice& choice, const ChangeOptions& options, Progress& progress) {
  return edit_once(options, progress, [&](Edit& edit) { return edit.remove(choice, progress); });
}

ChangeReport set_labels(const LabelChoice& choice, const ChangeOptions& options, Progress& progress) {
  return edit_once(options, progress, [&](Edit& edit) { return edit.set_labels(choice, progress); });
}

ChangeReport set_field(const FieldChoice& choice, const ChangeOptions& options, Progress& progress) {
  return edit_once(options, progress, [&](Edit& edit) { return edit.set_field(choice, progress); });
}

}  // namespace bale
