#include "bale/writer/run/journal_store.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

std::vector<Manifest> JournalStore::manifests() {
  // An unfinished run has its say first.
  if (plan_.base || options_.mode != DestinationMode::resume || Journal::present(options_.destination)) return {};
  return finished_manifests(options_, plan_);
}

std::vector<Manifest> JournalStore::begin(const std::vector<Slot>&) {
  if (!Journal::present(options_.destination)) require_may_begin(options_, plan_, samples_);
  Destination destination = prepare_destination(options_, plan_, samples_);
  journal_.emplace(std::move(destination.journal));
  return std::move(destination.finished);
}

void JournalStore::abandon(const Error* error) {
  // A recorded shard may already have its final name, even if publishing it reported an error.
  if (journal_->has_recorded() || (error != nullptr && stays_resumable(*journal_, *error))) return;
  abandon_destination(*journal_, options_, plan_);
}

ShardRecords JournalStore::records(const WantedShards& wanted) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> numbers;
  for (const Slot& slot : slots_of(plan_)) numbers[{slot.dataset->subdirectory, slot.shard.file}] = slot.number;
  ShardRecords records;
  for (const FinishedShard& finished : journal_->content().finished) {
    require_same_policy(finished);
    const auto found = numbers.find({finished.subdirectory, finished.shard.file});
    if (found != numbers.end() && wanted(found->second)) records[found->second] = {{.finished = finished}};
  }
  return records;
}

/// One ledger, one policy: a run that skipped samples must be resumed with the policy it began with.
void JournalStore::require_same_policy(const FinishedShard& finished) const {
  const std::string_view policy = on_error_name(options_.on_error);
  if (finished.skipped.empty() || finished.on_error == policy) return;
  if (finished.on_error.empty() && options_.on_error == OnError::skip) return;
  const std::string begun = finished.on_error.empty() ? "skip" : finished.on_error;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the interrupted run left samples out under the policy \"{}\" for bad samples, not \"{}\"",
                          printable(begun), policy),
              {.path = options_.destination,
               .hint = fmt::format("resume with `on_error` {}, or start again with `overwrite`", printable(begun))});
}

bool JournalStore::has_quarantined_files(const Slot& slot, const FinishedShard& finished) const {
  const std::string directory = dataset_directory(options_, *slot.dataset);
  return std::all_of(finished.skipped.begin(), finished.skipped.end(), [&](const SkippedSample& sample) {
    return std::all_of(sample.quarantined.begin(), sample.quarantined.end(),
                       [&](const std::string& copy) { return path_exists(join_path(directory, copy)); });
  });
}

bool JournalStore::is_intact(const Slot& slot, const ShardRecord& record, CheckDepth depth) {
  const FinishedShard& finished = record.finished;
  if (!has_quarantined_files(slot, finished)) return false;
  if (finished.shard.num_samples == 0) return finished.shard.digest.empty();
  const std::vector<Replacement::Move> moves = moves_of(options_, slot);
  const std::string partial = is_staged() ? journal_->path_of({}) : std::string{};
  if (!bale::is_intact(moves, options_, finished, partial, depth)) return false;
  const std::string path = is_staged() ? journal_->path_of(moves.back().first) : final_path(options_, slot);
  return finished.checked_images || !options_.check_images || has_checked_images(path, options_, progress_);
}

FinishedShard JournalStore::write(Slot& slot, const WriteShard& write) {
  return write(slot, journal_->path_of(moves_of(options_, slot).back().first));
}

std::string JournalStore::publish(const Slot& slot, const FinishedShard& finished) {
  journal_->record(finished);
  if (is_staged() || finished.shard.num_samples == 0) return {};
  for (const auto& [staged, path] : moves_of(options_, slot)) {
    publish_rename(journal_->path_of(staged), join_path(options_.destination, path));
  }
  return {};
}

bool JournalStore::has_file(const PlannedDataset& dataset, const std::string& name) const {
  return is_file(join_path(dataset_directory(options_, dataset), name));
}

std::string JournalStore::text_of(const PlannedDataset& dataset, const std::string& name) {
  return std::string(as_text(read_file(join_path(dataset_directory(options_, dataset), name))));
}

void JournalStore::publish_text(const PlannedDataset& dataset, const std::string& name, const std::string& text,
                                std::vector<Replacement::Move>& staged) {
  // Staged with the journal's files, it is removed with them however the run ends.
  const Replacement::Move move{Journal::staged_name(dataset.subdirectory + base_name(name)),
                               below_destination(dataset.subdirectory, name)};
  write_durably(journal_->path_of(move.first), as_bytes(text));
  if (is_staged()) return staged.push_back(move);
  if (name.find('/') != std::string::npos) journal_->destination().make(parent_directory(move.second));
  publish_rename(journal_->path_of(move.first), join_path(options_.destination, move.second));
}

void JournalStore::publish_file(const PlannedDataset& dataset, const std::string& name, const std::string& text) {
  publish_text(dataset, name, text, files_);
}

void JournalStore::stage_file(const WriteFile& write) {
  std::string staged = Journal::staged_name(fmt::format("change-{}", files_.size()));
  std::string name = write(journal_->path_of(staged));
  files_.push_back({std::move(staged), std::move(name)});
}

void JournalStore::publish_manifest(const PlannedDataset& dataset, const std::string& text) {
  publish_text(dataset, k_manifest_name, text, manifests_);
}

std::vector<PackReport::Replaced> JournalStore::finish(const FinishedShards& finished) {
  PlannedReplacement planned;
  if (is_staged()) {
    std::vector<Replacement::Move> files;
    for (std::size_t number = 0; number < finished.size(); ++number) {
      const PlannedDataset& dataset = plan_.datasets[number];
      for (std::size_t i = 0; i < finished[number].size(); ++i) {
        if (finished[number][i].shard.num_samples == 0) continue;
        const std::vector<Replacement::Move> moves = moves_of_shard(options_, dataset, dataset.shards[i]);
        files.insert(files.end(), moves.begin(), moves.end());
      }
    }
    files.insert(files.end(), files_.begin(), files_.end());
    planned = plan_replacement(options_, plan_, files, manifests_);
    journal_->record(planned.replacement);
    journal_->finish_replacement();
  }
  clear();
  return std::move(planned.replaced);
}

void JournalStore::clear() { journal_ ? journal_->remove() : Journal::clear_removed(options_.destination); }

}  // namespace bale
