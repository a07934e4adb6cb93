#include "bale/writer/change/layer_change.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/shard/field_layer.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/plan/dataset_files.hpp"

namespace bale {
namespace {

/// The numbers of these rows in the shard as it is stored.
std::vector<std::uint32_t> stored_rows(const std::vector<RowChange>& rows, const ShardAmendments* amendments) {
  std::vector<std::uint32_t> stored;
  std::vector<std::uint32_t>::const_iterator removed, end;
  if (amendments != nullptr) removed = amendments->removed.begin(), end = amendments->removed.end();
  std::uint32_t num_before = 0;
  for (const RowChange& change : rows) {
    for (; removed != end && *removed <= change.row + num_before; ++removed) ++num_before;
    stored.push_back(change.row + num_before);
  }
  return stored;
}

bool is_before(const RowChange& a, const RowChange& b) { return a.row < b.row; }

std::string name_of_change(const PendingLayer& layer) {
  if (layer.kind == LayerKind::removed) return "remove";
  return fmt::format("set {}", layer.kind == LayerKind::label ? "label" : layer.field);
}

}  // namespace

std::uint64_t PendingLayer::num_rows() const {
  std::uint64_t num_rows = 0;
  for (const auto& [shard, rows] : shards) num_rows += rows.size();
  return num_rows;
}

LayerChange::LayerChange(const std::string& directory) : directory_(directory) {
  file_ = read_current_manifest(directory);
  base_ = parse_manifest(file_.text, join_path(directory, k_manifest_name));
  id_ = version_id(base_);
  dataset_ = Dataset::open(directory, {.version = id_});
}

RemovalList LayerChange::removed() const {
  RemovalList all = RemovalList::load(directory_, base_);
  all.add(listed_);
  return all;
}

bool LayerChange::sets() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const PendingLayer& layer) { return layer.kind != LayerKind::removed; });
}

const RowChange* LayerChange::find(LayerKind kind, const std::string& field, std::size_t shard,
                                   std::uint32_t row) const {
  for (const PendingLayer& layer : pending_) {
    if (layer.kind != kind || layer.field != field) continue;
    const auto of = layer.shards.find(shard);
    if (of == layer.shards.end()) continue;
    const auto found = std::lower_bound(of->second.begin(), of->second.end(), RowChange{.row = row}, is_before);
    if (found != of->second.end() && found->row == row) return &*found;
  }
  return nullptr;
}

std::uint64_t LayerChange::fill(PendingLayer& layer, KeyedRows& wanted, const std::string& path, bool needs_all,
                                const HasValue& has_value, Progress& progress) const {
  std::uint64_t num_unchanged = 0;
  for (std::size_t shard = 0; shard < dataset_->num_shards(); ++shard) {
    progress.throw_if_stopped();
    const IndexInUse index = dataset_->use_index(shard);
    std::vector<RowChange> rows;
    for (std::uint32_t row = 0; row < index->size(); ++row) {
      if (removes(shard, row)) continue;
      const KeyedRows::Row* const found = wanted.find(index->key(row));
      if (found == nullptr && needs_all) refuse_missing(index->key(row), path);
      if (found == nullptr) continue;
      if (find(layer.kind, layer.field, shard, row) == nullptr && has_value(shard, *index, row, found->value)) {
        ++num_unchanged;
      } else {
        rows.push_back({.row = row, .value = found->value});
      }
    }
    if (!rows.empty()) layer.shards.emplace(shard, std::move(rows));
    ++progress.shards;
  }
  return num_unchanged;
}

ChangeReport LayerChange::add(PendingLayer layer, const RemovalList& listed) {
  ChangeReport report{.directory = directory_,
                      .verb = layer.kind == LayerKind::removed ? "remove" : "set",
                      .parent = id_,
                      .field = layer.field,
                      .num_samples = layer.num_rows(),
                      .num_shards = layer.shards.size()};
  const auto last = std::find_if(pending_.rbegin(), pending_.rend(), [&](const PendingLayer& known) {
    return known.kind == layer.kind && known.field == layer.field;
  });
  if (last == pending_.rend() || !std::ranges::equal(last->prefix(), layer.prefix())) {
    if (!layer.shards.empty()) pending_.push_back(std::move(layer));
  } else {
    const auto num_sources = static_cast<std::uint32_t>(last->sources.size());
    std::move(layer.sources.begin(), layer.sources.end(), std::back_inserter(last->sources));
    for (auto& [shard, rows] : layer.shards) {
      for (RowChange& change : rows) change.source += num_sources;
      std::vector<RowChange>& known = last->shards[shard];
      std::vector<RowChange> all;
      std::set_union(rows.begin(), rows.end(), known.begin(), known.end(), std::back_inserter(all), is_before);
      known = std::move(all);
    }
  }
  listed_.add(listed);
  report.num_left = this->report().num_left;
  return report;
}

void LayerChange::note_added(AddedKeys added) {
  added_ = std::move(added);
  num_before_added_ = pending_.size();
}

std::string LayerChange::hint_of_missing(std::string_view key) const {
  if (!adds(key)) return "`bale ls` lists the keys";
  return "the same edit adds a sample of this key: have its label and fields in the source, or change it in the next "
         "edit";
}

ChangeReport LayerChange::report() const {
  ChangeReport report{
      .directory = directory_, .verb = verb(), .parent = id_, .version = id_, .num_left = base_.num_samples};
  std::set<std::size_t> shards;
  for (const PendingLayer& layer : pending_) {
    report.num_samples += layer.num_rows();
    if (layer.kind == LayerKind::removed) report.num_left -= layer.num_rows();
    for (const auto& [shard, rows] : layer.shards) shards.insert(shard);
  }
  report.num_shards = shards.size();
  if (added_) {
    report.num_samples += added_->num_samples;
    report.num_left += added_->num_samples;
    report.num_shards += added_->num_shards;
  }
  return report;
}

ChangeReport LayerChange::publish(const std::string& message, Progress& progress) {
  ChangeReport report = this->report();
  if (is_empty()) return report;
  const std::unique_ptr<VersionStage> place = VersionStage::begin(directory_, &file_, progress);
  Replacement moves;
  const auto stage_file = [&](const WriteFile& write) {
    std::string staged = Journal::staged_name(fmt::format("change-{}", moves.files.size()));
    std::string name = write(place->path_of(staged));
    moves.files.push_back({std::move(staged), std::move(name)});
  };
  const auto stage_text = [&](const std::string& name, const std::string& text) {
    std::string staged = Journal::staged_name(base_name(name));
    write_durably(place->path_of(staged), as_bytes(text));
    report.num_bytes += text.size();
    return std::pair(std::move(staged), name);
  };
  stage(stage_file, progress);
  report.num_bytes += num_staged_bytes_;
  Manifest manifest = base_;
  manifest.change = {};
  apply(manifest);
  report.version = version_id(manifest);
  manifest.created_by = fmt::format("bale {}", version());
  if (report.version != id_) {
    manifest.parent = id_;
    manifest.change.message = message;
    moves.files.push_back(stage_text(kept_version(id_), text_to_keep(directory_, id_, file_.text)));
  } else {  // the same content with a longer list of removals
    manifest.change = base_.change;
  }
  moves.manifests.push_back(stage_text(k_manifest_name, manifest_text(manifest)));
  place->publish(moves);
  return report;
}

/// "set" of one change, else all that was done: "remove, set label, set clip.npy".
std::string LayerChange::verb() const {
  std::vector<std::string> names;
  const auto take = [&](std::string name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  };
  for (std::size_t n = 0; n <= pending_.size(); ++n) {
    if (added_ && n == num_before_added_) take("add");
    if (n < pending_.size()) take(name_of_change(pending_[n]));
  }
  if (names.empty()) return "remove";
  if (names.size() == 1) return names.front().substr(0, names.front().find(' '));
  return joined(names);
}

void LayerChange::stage(const std::function<void(const WriteFile& write)>& stage_file, Progress& progress) {
  staged_layers_.clear();
  staged_removals_.clear();
  num_staged_bytes_ = 0;
  for (const PendingLayer& layer : pending_) {
    stage_file([&](const std::string& path) {
      staged_layers_.push_back(write(layer, path, progress));
      num_staged_bytes_ += staged_layers_.back().bytes;
      return layer_name(staged_layers_.back().digest);
    });
  }
  if (listed_.empty()) return;
  stage_file([&](const std::string& path) {
    const std::string text = listed_.text();
    write_durably(path, as_bytes(text));
    num_staged_bytes_ += text.size();
    staged_removals_.push_back(describe_removals(listed_, text));
    return removal_list_name(staged_removals_.back().digest);
  });
}

void LayerChange::apply(Manifest& manifest) const {
  for (const PendingLayer& layer : pending_) {
    manifest.change.num_samples += layer.num_rows();
    if (layer.kind == LayerKind::field) {
      const bool is_known = std::any_of(manifest.fields.begin(), manifest.fields.end(),
                                        [&](const ManifestField& known) { return known.name == layer.field; });
      if (!is_known) manifest.fields.push_back({.name = layer.field});
    }
    if (layer.kind != LayerKind::removed) continue;
    for (const auto& [shard, rows] : layer.shards) {
      manifest.shards[shard].num_samples -= rows.size();
      manifest.shards[shard].num_removed += rows.size();
      manifest.num_samples -= rows.size();
    }
  }
  manifest.layers.insert(manifest.layers.end(), staged_layers_.begin(), staged_layers_.end());
  manifest.removals.insert(manifest.removals.end(), staged_removals_.begin(), staged_removals_.end());
  manifest.change.verb = verb();
}

ManifestLayer LayerChange::write(const PendingLayer& pending, const std::string& path, Progress& progress) const {
  struct OfShard {
    Digest digest{};
    std::size_t number = 0;
    const std::vector<RowChange>* rows = nullptr;
  };
  std::vector<OfShard> order;  // ascending by digest
  for (const auto& [number, rows] : pending.shards) {
    const std::optional<Digest> digest = dataset_->use_index(number)->digest();
    if (!digest) {
      throw Error(ErrorCode::damaged, "has no index",
                  {.path = dataset_->shard_path(number), .hint = "make it with `bale index`"});
    }
    order.push_back({.digest = *digest, .number = number, .rows = &rows});
  }
  std::sort(order.begin(), order.end(), [](const OfShard& a, const OfShard& b) { return a.digest < b.digest; });
  const auto stored = [&](const OfShard& of) {
    const auto layers = dataset_->layers(of.number);
    return stored_rows(*of.rows, layers ? layers->of(base_.shards[of.number].digest) : nullptr);
  };
  if (pending.kind != LayerKind::field) {
    Layer layer{.kind = pending.kind};
    for (const OfShard& of : order) {
      layer.shards.push_back({.shard = of.digest, .rows = stored(of)});
      if (pending.kind == LayerKind::removed) continue;
      for (const RowChange& change : *of.rows) layer.shards.back().labels.push_back(change.value);
    }
    const std::vector<std::byte> content = layer_bytes(layer);
    write_durably(path, content);
    return describe_layer(layer, content);
  }
  std::vector<FieldLayerWriter::OfShard> shards;
  for (const OfShard& of : order) shards.push_back({.shard = of.digest, .rows = stored(of)});
  FieldLayerWriter writer(path, pending.field, pending.prefix(), std::move(shards));
  for (const OfShard& of : order) {
    for (const RowChange& change : *of.rows) {
      progress.throw_if_stopped();
      writer.add(pending.sources[change.source]->read(change.value));
    }
  }
  return writer.finish();
}

}  // namespace bale
