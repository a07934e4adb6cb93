#include "bale/writer/stream/growing_dataset.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/publish/dataset_manifest.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {
namespace {

void add_new_names(const std::vector<std::string>& names, std::vector<std::string>& out) {
  for (const std::string& name : names) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
}

[[noreturn]] void refuse_damaged_run(const std::string& path) {
  throw Error(ErrorCode::damaged, "a shard of the earlier run is missing or damaged",
              {.path = path, .hint = "its samples are lost: start again with `overwrite`"});
}

}  // namespace

GrowingDataset::GrowingDataset(const PackOptions& options, const std::vector<std::string>& classes, bool may_be_empty)
    : options_(options),
      classes_(classes),
      may_be_empty_(may_be_empty),
      plan_(make_open_plan(options, classes)),
      store_(options, plan_, {}, progress_) {
  require_local_name(options_.destination, UrlUse::writing);
  require_no_overlap({}, options_.destination);
  std::vector<Manifest> published = store_.manifests();
  if (published.empty()) published = store_.begin({});
  if (!published.empty()) {
    take_complete(std::move(published.front()));
    store_.clear();
    store_.release();
    return;
  }
  try {
    try_format_options(options_, partial_directory());
  } catch (...) {
    if (store_.journal().content().finished.empty()) leave();
    throw;
  }
}

void GrowingDataset::take_complete(Manifest manifest) {
  run_parallel(manifest.shards.size(), 0, [&](std::size_t number) {
    const FinishedShard finished{.subdirectory = {}, .shard = manifest.shards[number]};
    if (!is_intact(moves_of_shard(options_, planned(), {.file = finished.shard.file}), options_, finished, {},
                   CheckDepth::content)) {
      refuse_damaged_run(join_path(options_.destination, finished.shard.file));
    }
  });
  for (const ManifestShard& shard : manifest.shards) add({.subdirectory = {}, .shard = shard});
  complete_ = std::move(manifest);
}

PackReport GrowingDataset::report() const {
  return report_of_earlier_run(options_, plan_, {*complete_}, complete_->shards.size(), 0);
}

std::string GrowingDataset::shard_file(std::uint64_t shard) const {
  return shard_file_name(*options_.format.layout, planned().name, shard, 0);
}

std::string GrowingDataset::pending_path(std::uint64_t shard) const {
  // No dataset has a name with a dot in front.
  return store_.journal().staged_path(fmt::format(".samples-{:06}", shard));
}

std::uint64_t GrowingDataset::num_shards() const {
  const std::lock_guard lock(mutex_);
  return shards_.size();
}

std::uint64_t GrowingDataset::num_samples() const {
  if (complete_) return complete_->num_samples + complete_->num_skipped;
  const std::lock_guard lock(mutex_);
  return shards_.empty() ? 0 : shards_.back().first + shards_.back().count;
}

std::string GrowingDataset::path_of_index(const FinishedShard& finished) const {
  const std::string& file = finished.shard.file;
  return index_path(is_staged() ? store_.journal().staged_path(file) : join_path(options_.destination, file));
}

void GrowingDataset::add(FinishedShard finished) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = shards_.empty() ? 0 : shards_.back().first + shards_.back().count;
  const std::uint64_t count = finished.shard.num_samples + finished.skipped.size();
  shards_.push_back({.first = first, .count = count, .finished = std::move(finished)});
}

/// Whether a recorded shard is there and whole. Gives its files their final names, which a killed run may have left
/// undone. Returns false if it was recorded and not published when the power failed; its samples may still wait then.
/// Throws `damaged` if it was published.
bool GrowingDataset::finish_publishing(const FinishedShard& finished) const {
  const std::vector<Replacement::Move> moves = moves_of_shard(options_, planned(), {.file = finished.shard.file});
  const auto staged = [&](const Replacement::Move& move) { return is_file(store_.journal().path_of(move.first)); };
  const auto final_path = [&](const Replacement::Move& move) { return join_path(options_.destination, move.second); };
  // The shard itself gets its final name after all files next to it.
  const bool published = is_staged() ? std::all_of(moves.begin(), moves.end(), staged)
                                     : name_is_taken(final_path(moves.back())) && !staged(moves.back());
  const bool all_there = std::all_of(moves.begin(), moves.end(), [&](const Replacement::Move& move) {
    return staged(move) || (!is_staged() && is_file(final_path(move)));
  });
  if (!published && !all_there) return false;
  if (!is_staged() && all_there) {
    for (const Replacement::Move& move : moves) {
      if (staged(move)) publish_rename(store_.journal().path_of(move.first), final_path(move));
    }
  }
  if (is_intact(moves, options_, finished, is_staged() ? partial_directory() : std::string{}, CheckDepth::content))
    return true;
  refuse_damaged_run(is_staged() ? store_.journal().path_of(moves.back().first) : final_path(moves.back()));
}

void GrowingDataset::adopt_shards(const OnKey& on_key, std::vector<std::string>& fields) {
  std::map<std::string, FinishedShard> recorded;
  for (const FinishedShard& finished : store_.journal().content().finished) recorded[finished.shard.file] = finished;
  std::vector<FinishedShard> found;
  for (std::uint64_t shard = 0; recorded.contains(shard_file(shard)); ++shard) {
    found.push_back(recorded[shard_file(shard)]);
  }
  std::vector<char> whole(found.size(), 1);
  run_parallel(found.size(), 0, [&](std::size_t shard) {
    if (found[shard].shard.num_samples != 0) whole[shard] = finish_publishing(found[shard]) ? 1 : 0;
  });
  for (std::size_t shard = 0; shard < found.size(); ++shard) {
    FinishedShard& finished = found[shard];
    if (whole[shard] == 0) {
      if (shard + 1 < found.size()) refuse_damaged_run(join_path(options_.destination, finished.shard.file));
      return;
    }
    if (finished.shard.num_samples != 0) {
      const ShardIndex index = ShardIndex::load(path_of_index(finished));
      for (std::uint64_t i = 0; i < index.size(); ++i) on_key(index.key(i));
      for (const FieldInfo& field : index.fields()) add_new_names({field.name}, fields);
    }
    add(std::move(finished));
    ++num_resumed_;
  }
}

std::vector<std::shared_ptr<SampleLog>> GrowingDataset::adopt_finished(const OnKey& on_key,
                                                                       std::vector<std::string>& fields) {
  adopt_shards(on_key, fields);
  std::set<std::string> kept;
  if (is_staged()) {
    for (const Shard& shard : shards_) kept.insert(Journal::staged_name(shard.finished.shard.file));
  }
  std::vector<std::shared_ptr<SampleLog>> all;
  std::uint64_t first = num_samples();
  for (std::uint64_t shard = num_shards();; ++shard) {
    auto pending = std::make_shared<SampleLog>(shard, first, pending_path(shard));
    if (!pending->recover()) break;
    for (std::uint64_t i = 0; i < pending->size(); ++i) on_key(pending->key(i));
    add_new_names(pending->names(), fields);
    kept.insert(base_name(pending->path()));
    first += pending->size();
    all.push_back(std::move(pending));
  }
  store_.journal().remove_temporary_except(kept);
  return all;
}

std::optional<std::string> GrowingDataset::find(std::string_view key) const {
  const auto name = [&](std::uint64_t sample, const std::string& file) {
    return fmt::format("sample {} of {}", sample, printable(file));
  };
  const std::lock_guard searching(search_mutex_);
  if (searched_) {
    if (const auto found = searched_->second.find(key)) return name(*found, searched_->first);
  }
  for (std::size_t shard = 0;; ++shard) {
    std::string file;
    std::string path;
    {
      const std::lock_guard lock(mutex_);
      while (shard < shards_.size() && shards_[shard].finished.shard.num_samples == 0) ++shard;
      if (shard >= shards_.size()) return std::nullopt;
      file = shards_[shard].finished.shard.file;
      path = path_of_index(shards_[shard].finished);
    }
    ShardIndex index = ShardIndex::load(path);
    const std::optional<std::uint64_t> found = index.find(key);
    if (!found) continue;
    searched_.emplace(file, std::move(index));
    return name(*found, file);
  }
}

void GrowingDataset::publish(FinishedShard&& finished) {
  store_.publish({.dataset = &planned(), .shard = {.file = finished.shard.file}}, finished);
  sync_names();
  add(std::move(finished));
}

void GrowingDataset::sync_names() const {
  if (is_staged()) sync_directory(partial_directory());
}

/// With the names that depend on the number of shards.
FinishedShard GrowingDataset::with_final_names(const FinishedShard& finished, std::uint64_t shard) const {
  const Layout& layout = *options_.format.layout;
  const std::string_view suffix = layout.suffix;
  const std::string file = shard_file_name(layout, planned().name, shard, shards_.size());
  const std::string_view stem = std::string_view(file).substr(0, file.size() - suffix.size());
  const std::size_t old_stem = finished.shard.file.size() - suffix.size();
  FinishedShard named = finished;
  for (std::string& sidecar : named.shard.sidecars) sidecar = std::string(stem) + sidecar.substr(old_stem);
  named.shard.file = file;
  return named;
}

PackReport GrowingDataset::finish(bool encoded_keys) {
  FinishedShards finished(1);
  PlannedDataset& dataset = plan_.datasets.front();
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    const Shard& shard = shards_[number];
    finished.front().push_back(with_final_names(shard.finished, number));
    dataset.shards.push_back({.file = finished.front().back().shard.file,
                              .begin = shard.first,
                              .end = shard.first + shard.count,
                              .staged_as = shard.finished.shard.file});
  }
  try {
    if (!may_be_empty_) require_samples(options_, plan_, finished);
  } catch (...) {
    leave();
    throw;
  }
  PackReport report = publish_manifests({.classes = classes_, .keys = encoded_keys ? KeyForm::encoded : KeyForm::plain},
                                        options_, plan_, finished, store_);
  report.num_resumed_shards = num_resumed_;
  return report;
}

}  // namespace bale
