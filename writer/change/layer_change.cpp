#include "bale/writer/change/layer_change.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/journal/journal.hpp"
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

ChangeReport LayerChange::publish(const RemovalList& removed) {
  report_.num_left = manifest_.num_samples;
  if (layer_.shards.empty() && removed.empty()) report_.version = report_.parent;
  if (options_.dry_run || !report_.version.empty()) return std::move(report_);
  std::vector<NewFile> files{
      {kept_version(report_.parent), text_to_keep(options_.destination, report_.parent, base_text_)}};
  if (!layer_.shards.empty()) {
    std::sort(layer_.shards.begin(), layer_.shards.end(),
              [](const Layer::OfShard& a, const Layer::OfShard& b) { return a.shard < b.shard; });
    const std::vector<std::byte> content = layer_bytes(layer_);
    manifest_.layers.push_back(describe_layer(layer_, content));
    files.push_back({layer_name(manifest_.layers.back().digest), std::string(as_text(content))});
  }
  if (!removed.empty()) {
    std::string text = removed.text();
    manifest_.removals.push_back(describe_removals(removed, text));
    files.push_back({removal_list_name(manifest_.removals.back().digest), std::move(text)});
  }
  report_.version = version_id(manifest_);
  manifest_.created_by = fmt::format("bale {}", version());
  if (report_.version != report_.parent) {
    manifest_.parent = report_.parent;
    manifest_.change = {.verb = report_.verb, .num_samples = report_.num_samples, .message = options_.message};
  } else {
    files.erase(files.begin());  // the same content with a longer list of removals
  }
  publish(files, manifest_text(manifest_));
  return std::move(report_);
}

/// Until the manifest has its name, nobody looks at the other files, so a run that is killed leaves nothing to carry
/// out.
void LayerChange::publish(const std::vector<NewFile>& files, const std::string& manifest) {
  const std::string& directory = options_.destination;
  Journal journal = lock_versions(directory);
  try {
    const std::string path = join_path(directory, k_manifest_name);
    if (as_text(read_file(path)) != base_text_) {
      throw Error(ErrorCode::retryable,
                  fmt::format("another run published version {} of it, after {}", version_id(load_manifest(path)),
                              report_.parent),
                  {.path = directory, .hint = "run the same command again, to change that version"});
    }
    DirectoryTree tree(Directory::open(directory));
    Replacement moves;
    const auto stage = [&](const std::string& name, const std::string& text) -> Replacement::Move {
      const std::string staged = Journal::staged_name(base_name(name));
      write_durably(journal.path_of(staged), as_bytes(text));
      report_.num_bytes += text.size();
      return {staged, name};
    };
    for (const NewFile& file : files) {
      tree.make(parent_directory(file.name));
      moves.files.push_back(stage(file.name, file.text));
    }
    moves.manifests.push_back(stage(k_manifest_name, manifest));
    const Directory partial = journal.destination().make(k_partial_name);
    partial.sync();
    carry_out(moves, tree, partial);
  } catch (...) {
    journal.remove();
    throw;
  }
  journal.remove();
}

}  // namespace bale
