#include "bale/writer/change/layer_change.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/shard/field_layer.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/plan/dataset_files.hpp"

namespace bale {
namespace {

void require_dataset(const std::string& directory) {
  require_local_name(directory, UrlUse::packing);
  if (is_object_store(directory)) {
    throw Error(ErrorCode::unsupported, "a dataset in an object store cannot be changed",
                {.path = directory, .hint = "change a local copy, and upload what is new, the manifest last"});
  }
  if (path_exists(join_path(directory, k_manifest_name))) return;
  throw Error(ErrorCode::not_found, "is not a packed dataset: there is no manifest.json",
              {.path = directory, .hint = "name the directory of the dataset, without a version"});
}

/// The numbers of these rows in the shard as it is stored.
std::vector<std::uint32_t> stored_rows(const std::vector<std::uint32_t>& rows, const ShardAmendments* amendments) {
  if (amendments == nullptr) return rows;
  std::vector<std::uint32_t> stored;
  auto removed = amendments->removed.begin();
  std::uint32_t num_before = 0;
  for (const std::uint32_t row : rows) {
    for (; removed != amendments->removed.end() && *removed <= row + num_before; ++removed) ++num_before;
    stored.push_back(row + num_before);
  }
  return stored;
}

}  // namespace

LayerChange::LayerChange(std::string verb, LayerKind kind, const ChangeOptions& options) : options_(options) {
  const std::string& directory = options.destination;
  require_dataset(directory);
  const std::string path = join_path(directory, k_manifest_name);
  base_text_ = as_text(read_file(path));
  manifest_ = parse_manifest(base_text_, path);
  const std::string id = version_id(manifest_);
  dataset_ = Dataset::open(directory, {.version = id});
  layers_ = Layers::load(directory, manifest_);
  layer_.kind = kind;
  report_ = {.directory = directory, .verb = std::move(verb), .parent = id};
}

void LayerChange::add(std::size_t shard, const std::vector<std::uint32_t>& rows,
                      const std::vector<std::int64_t>& labels) {
  if (rows.empty()) return;
  ManifestShard& listed = manifest_.shards[shard];
  const std::optional<Digest> digest = dataset_->use_index(shard)->digest();
  if (!digest) {
    throw Error(ErrorCode::damaged, "has no index",
                {.path = dataset_->shard_path(shard), .hint = "make it with `bale index`"});
  }
  layer_.shards.push_back({.shard = *digest, .rows = stored_rows(rows, layers_.of(listed.digest)), .labels = labels});
  report_.num_samples += rows.size();
  ++report_.num_shards;
  if (layer_.kind != LayerKind::removed) return;
  listed.num_samples -= rows.size();
  listed.num_removed += rows.size();
  manifest_.num_samples -= rows.size();
}

void LayerChange::add(KeyedRows& wanted, const std::string& path, bool needs_all, const HasValue& has_value,
                      Progress& progress) {
  for (std::size_t shard = 0; shard < dataset_->num_shards(); ++shard) {
    progress.throw_if_stopped();
    const IndexInUse index = dataset_->use_index(shard);
    std::vector<std::uint32_t> rows;
    std::vector<std::int64_t> values;
    for (std::uint32_t row = 0; row < index->size(); ++row) {
      const KeyedRows::Row* const found = wanted.find(index->key(row));
      if (found == nullptr && needs_all) refuse_missing(index->key(row), path);
      if (found == nullptr) continue;
      if (has_value(shard, *index, row, found->value)) {
        ++report_.num_unchanged;
        continue;
      }
      rows.push_back(row);
      values.push_back(found->value);
    }
    add(shard, rows, values);
    ++progress.shards;
  }
}

/// Until the manifest has its name, nobody looks at the other files, so a run that is killed leaves nothing to carry
/// out.
ChangeReport LayerChange::publish(const RemovalList& removed, const FieldToWrite* field) {
  report_.num_left = manifest_.num_samples;
  if (layer_.shards.empty() && removed.empty()) report_.version = report_.parent;
  if (options_.dry_run || !report_.version.empty()) return std::move(report_);
  const std::string& directory = options_.destination;
  Journal journal = lock_versions(directory);
  try {
    require_base();
    Replacement moves;
    if (!layer_.shards.empty()) {
      std::string staged = stage_layer(journal, field);
      moves.files.push_back({std::move(staged), layer_name(manifest_.layers.back().digest)});
    }
    if (!removed.empty()) {
      const std::string text = removed.text();
      manifest_.removals.push_back(describe_removals(removed, text));
      const std::string name = removal_list_name(manifest_.removals.back().digest);
      moves.files.push_back({stage(journal, name, text), name});
    }
    report_.version = version_id(manifest_);
    manifest_.created_by = fmt::format("bale {}", version());
    if (report_.version != report_.parent) {  // else it is the same content with a longer list of removals
      manifest_.parent = report_.parent;
      manifest_.change = {.verb = report_.verb, .num_samples = report_.num_samples, .message = options_.message};
      const std::string name = kept_version(report_.parent);
      moves.files.push_back(
          {stage(journal, name, text_to_keep(options_.destination, report_.parent, base_text_)), name});
    }
    moves.manifests.push_back({stage(journal, k_manifest_name, manifest_text(manifest_)), k_manifest_name});
    DirectoryTree tree(Directory::open(directory));
    for (const Replacement::Move& move : moves.files) tree.make(parent_directory(move.second));
    const Directory partial = journal.destination().make(k_partial_name);
    partial.sync();
    carry_out(moves, tree, partial);
  } catch (...) {
    journal.remove();
    throw;
  }
  journal.remove();
  return std::move(report_);
}

void LayerChange::require_base() const {
  const std::string path = join_path(options_.destination, k_manifest_name);
  if (as_text(read_file(path)) == base_text_) return;
  throw Error(
      ErrorCode::retryable,
      fmt::format("another run published version {} of it, after {}", version_id(load_manifest(path)), report_.parent),
      {.path = options_.destination, .hint = "run the same command again, to change that version"});
}

std::string LayerChange::stage_layer(const Journal& journal, const FieldToWrite* field) {
  std::sort(layer_.shards.begin(), layer_.shards.end(),
            [](const Layer::OfShard& a, const Layer::OfShard& b) { return a.shard < b.shard; });
  if (field == nullptr) {
    const std::vector<std::byte> content = layer_bytes(layer_);
    manifest_.layers.push_back(describe_layer(layer_, content));
    return stage(journal, layer_name(manifest_.layers.back().digest), std::string(as_text(content)));
  }
  std::string staged = Journal::staged_name("field.blay");
  std::vector<FieldLayerWriter::OfShard> shards;
  for (Layer::OfShard& of : layer_.shards) shards.push_back({.shard = of.shard, .rows = std::move(of.rows)});
  FieldLayerWriter writer(journal.path_of(staged), field->name, field->prefix, std::move(shards));
  for (const Layer::OfShard& of : layer_.shards) {
    for (const std::int64_t number : of.labels) writer.add(field->read(number));
  }
  manifest_.layers.push_back(writer.finish());
  report_.num_bytes += manifest_.layers.back().bytes;
  const bool is_known = std::any_of(manifest_.fields.begin(), manifest_.fields.end(),
                                    [&](const ManifestField& known) { return known.name == field->name; });
  if (!is_known) manifest_.fields.push_back({.name = field->name});
  return staged;
}

std::string LayerChange::stage(const Journal& journal, const std::string& name, const std::string& text) {
  std::string staged = Journal::staged_name(base_name(name));
  write_durably(journal.path_of(staged), as_bytes(text));
  report_.num_bytes += text.size();
  return staged;
}

}  // namespace bale
