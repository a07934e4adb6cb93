#include "bale/writer/run/objects/object_destination.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/plan/plan_facts.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/publish/run_decision.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_version = 1;

Json pairs_to_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<std::string> list;
  for (const auto& [first, second] : pairs) list.insert(list.end(), {first, second});
  return bytes_list_to_json(list);
}

std::vector<std::pair<std::string, std::string>> pairs_from_json(const Json& json, const char* name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const std::vector<std::string> list = json.bytes_list(name);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) pairs.emplace_back(list[i], list[i + 1]);
  return pairs;
}

std::string run_to_text(const ObjectRun& run) {
  Json json{{"version", k_version},
            {"plan", run.plan},
            {"facts", Json::object_of(run.facts)},
            {"owner", run.owner},
            {"parts", run.is_parts},
            {"files", bytes_list_to_json(run.files)},
            {"replaced", bytes_list_to_json(run.replaced)}};
  if (run.is_decided || run.rest != ObjectRest{}) {
    json["rest"] = {{"decided", run.is_decided},
                    {"moved", pairs_to_json(run.rest.moved)},
                    {"written", pairs_to_json(run.rest.written)},
                    {"removed", bytes_list_to_json(run.rest.removed)}};
  }
  return json.dump({.sorted = true});
}

/// Throws `damaged`, or `unsupported` if a newer version of bale wrote it. `path` is used in messages only.
ObjectRun run_from_text(std::string_view text, const std::string& path) {
  try {
    const Json json = parse_json(text);
    if (json.count("version") > k_version) {
      throw Error(ErrorCode::unsupported, "was written by a newer version of bale",
                  {.path = path, .hint = "use that version, or remove the objects of the unfinished run"});
    }
    ObjectRun run{.plan = json.text("plan"),
                  .facts = facts_from(json),
                  .owner = json.text("owner"),
                  .is_parts = json.truth("parts"),
                  .files = json.bytes_list("files"),
                  .replaced = json.bytes_list("replaced")};
    if (const Json* const rest = json.find("rest")) {
      run.is_decided = rest->truth("decided");
      run.rest = {.moved = pairs_from_json(*rest, "moved"),
                  .written = pairs_from_json(*rest, "written"),
                  .removed = rest->bytes_list("removed")};
    }
    return run;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    throw Error(ErrorCode::damaged, "is not a record of an unfinished run",
                {.path = path, .hint = "remove it, or start again with `overwrite`"});
  }
}

constexpr const char* k_own_prefix = ".bale-partial/";
constexpr std::string_view k_record_prefix = ".bale-partial/shard-";
constexpr std::string_view k_record_suffix = ".json";
constexpr std::string_view k_parts_prefix_of_names = ".bale-partial/parts-";
constexpr std::size_t k_most_requests = 16;        // at a time
constexpr std::size_t k_requests_per_thread = 64;  // few are made one after another

std::string record_text(const FinishedShard& finished, const std::vector<StoredObject>& files) {
  Json list = Json::array();
  for (const StoredObject& file : files) {
    list.push_back({{"file", bytes_to_json(file.key)}, {"bytes", file.size}, {"etag", bytes_to_json(file.etag)}});
  }
  return fmt::format("{}\n{}\n", finished_to_text(finished), list.dump({.sorted = true}));
}

ShardRecord record_from_text(std::string name, std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  ShardRecord record{.name = std::move(name), .finished = finished_from_text(text.substr(0, end)), .files = {}};
  const Json list = parse_json(text.substr(end));
  for (const Json& file : list.as_list("the list of files")) {
    record.files.push_back({file.bytes("file"), file.count("bytes"), file.bytes("etag")});
  }
  return record;
}

unsigned threads_for(std::size_t num_requests) {
  return static_cast<unsigned>(std::min(k_most_requests, 1 + num_requests / k_requests_per_thread));
}

/// Removes what a run keeps, its own record last.
void clear_run(const ObjectStore& store) {
  std::vector<std::string> names;
  for (const StoredObject& object : store.list()) {
    if (object.key.starts_with(k_own_prefix) && object.key != k_run_name) names.push_back(object.key);
  }
  run_parallel(names.size(), threads_for(names.size()), [&](std::size_t i) { store.remove(names[i]); });
  store.remove(k_run_name);
}

/// A file that moves is at one of its two names at any time. Versions give way before their files. A layer that the
/// current version names stays: it may have been stored since.
void carry_out(const ObjectStore& store, const ObjectRest& rest) {
  if (rest == ObjectRest{}) return;
  for (const auto& [name, text] : rest.written) {
    store.put(name, as_bytes(text));
    forget_version(store.name_of(name));
  }
  run_parallel(rest.moved.size(), threads_for(rest.moved.size()), [&](std::size_t i) {
    const auto& [from, to] = rest.moved[i];
    if (!store.copy(from, to) && !store.find(to)) {
      throw Error(ErrorCode::not_found, "no such object", {.path = store.name_of(from)});
    }
    forget_version(store.name_of(to));
  });
  std::vector<std::string> files = rest.removed;
  for (const auto& [from, to] : rest.moved) files.push_back(from);
  if (const auto current = read_object_manifest(store)) {
    const Manifest manifest = parse_manifest(current->text, store.name_of(k_manifest_name));
    for (const ManifestLayer& layer : manifest.layers) std::erase(files, layer_name(layer.digest));
    for (const ManifestRemovals& removals : manifest.removals) std::erase(files, removal_list_name(removals.digest));
  }
  run_parallel(files.size(), threads_for(files.size()), [&](std::size_t i) {
    store.remove(files[i]);
    forget_version(store.name_of(files[i]));
  });
}

/// The same of a run, and removes its record, unless another run did so in the meantime and one more has begun.
void end_run(const ObjectStore& store, const ObjectRun& run) {
  carry_out(store, run.rest);
  const auto now = read_run(store);
  if (!now || *now == run) clear_run(store);
}

/// A name that programs store to show a folder.
bool is_folder_mark(const StoredObject& object) {
  return object.size == 0 && (object.key.empty() || object.key.ends_with('/'));
}

}  // namespace

std::optional<ObjectRun> read_run(const ObjectStore& store) {
  const auto text = store.read(k_run_name);
  return text ? std::optional(run_from_text(as_text(*text), store.name_of(k_run_name))) : std::nullopt;
}

bool end_decided_run(const ObjectStore& store, const Manifest& current) {
  const auto run = read_run(store);
  if (!run) return true;
  if (!run->is_decided && (run->is_parts || run->plan != current.plan)) return false;
  end_run(store, *run);
  return true;
}

void end_with(const ObjectStore& store, const std::string& directory, ObjectRest rest) {
  const ObjectRun run{.owner = temporary_name(), .rest = std::move(rest), .is_decided = true};
  const std::string text = run_to_text(run);
  store.put_if_absent(k_run_name, as_bytes(text));
  if (!has_text(store, k_run_name, text)) {  // an earlier try of the request may have stored it
    throw Error(ErrorCode::retryable, "another run is at work there",
                {.path = directory, .hint = "run the same again"});
  }
  end_run(store, run);
}

ObjectDestination::ObjectDestination(const PackOptions& options, const Plan& plan, std::string id, bool is_parts,
                                     const Progress& progress)
    : options_(options),
      plan_(plan),
      id_(std::move(id)),
      is_parts_(is_parts),
      store_(ObjectStore::open(options.destination, [this, &progress] {
        if (!is_abandoned_) progress.throw_if_stopped();
      })) {}

void ObjectDestination::list() {
  objects_.clear();
  for (StoredObject& object : store_->list()) {
    if (is_folder_mark(object)) continue;
    std::string key = object.key;
    objects_.emplace(std::move(key), std::move(object));
  }
  unfinished_.reset();
  if (holds(k_run_name)) unfinished_ = read_run(*store_);
}

const StoredObject* ObjectDestination::find(const std::string& file) const {
  const auto found = objects_.find(file);
  return found == objects_.end() ? nullptr : &found->second;
}

std::vector<Manifest> ObjectDestination::finished_manifests() const {
  std::vector<Manifest> manifests;
  for (const PlannedDataset& planned : plan_.datasets) {
    const std::string name = below_destination(planned.subdirectory, k_manifest_name);
    const auto text = holds(name) ? store_->read(name) : std::nullopt;
    if (!text) return {};
    manifests.push_back(parse_manifest(std::string(as_text(*text)), store_->name_of(name)));
    if (manifests.back().plan != plan_.fingerprint) return {};
  }
  return manifests;
}

HeldDatasets ObjectDestination::held() const {
  HeldDatasets held{.destination = options_.destination,
                    .load =
                        [this](const std::string& place) {
                          const std::string name = below_destination(place, k_manifest_name);
                          const auto text = store_->read(name);
                          if (!text)
                            throw Error(ErrorCode::not_found, "no such object", {.path = store_->name_of(name)});
                          return parse_manifest(std::string(as_text(*text)), store_->name_of(name));
                        },
                    .replaced_versions =
                        [this](const std::string& place) {
                          std::vector<std::string> ids;
                          for (const auto& [key, object] : objects_) {
                            const std::string id = base_name(key).substr(0, base_name(key).find('.'));
                            if (key != below_destination(place, kept_version(id))) continue;
                            const auto text = store_->read(key);
                            if (text && !parse_gone_version(std::string(as_text(*text)))) ids.push_back(id);
                          }
                          return ids;
                        }};
  for (const auto& [key, object] : objects_) {
    if (key.starts_with(k_own_prefix)) continue;
    const std::size_t slash = std::min(key.find('/'), key.size());
    const std::string first = key.substr(0, slash);
    if (held.names.empty() || held.names.back() != first) held.names.push_back(first);
    if (key == k_manifest_name) held.places.emplace_back();
    if (slash != key.size() && key.substr(slash + 1) == k_manifest_name) held.places.push_back(first);
  }
  return held;
}

std::vector<std::string> ObjectDestination::planned_files() const {
  std::vector<std::string> files = list_files(options_, plan_);
  for (const PlannedDataset& dataset : plan_.datasets) {
    files.push_back(below_destination(dataset.subdirectory, k_ledger_name));
    for (const PlannedShard& shard : dataset.shards) {
      for (std::string& file : files_of_shard(below_destination(dataset.subdirectory, shard.file), options_)) {
        files.push_back(std::move(file));
      }
    }
  }
  return files;
}

void ObjectDestination::require_way_is_free(const std::vector<std::string>& ours) const {
  const std::unordered_set<std::string> known(ours.begin(), ours.end());
  for (const std::string& file : planned_files()) {
    if (!holds(file) || known.contains(file)) continue;
    throw Error(ErrorCode::exists, "is in the way and was not written by bale",
                {.path = store_->name_of(file), .hint = "move it, or choose another `name`"});
  }
}

ObjectRun ObjectDestination::new_run(std::vector<std::string> replaced) const {
  return {.plan = id_,
          .facts = plan_.facts,
          .owner = is_parts_ ? id_ : temporary_name(),
          .is_parts = is_parts_,
          .files = planned_files(),
          .replaced = std::move(replaced)};
}

bool ObjectDestination::is_own(const ObjectRun& run) const { return run.owner == run_.owner && run.plan == run_.plan; }

void ObjectDestination::begin() {
  run_ = new_run({});
  store_->put_if_absent(k_run_name, as_bytes(run_to_text(run_)));
  list();  // again: an earlier try of the request may have stored it, and another run may have begun or ended in the
           // meantime
  if (!unfinished_ || !is_own(*unfinished_)) {
    throw Error(ErrorCode::retryable, "another run is packing into the destination", {.path = options_.destination});
  }
  if (is_parts_) return resume();  // others may have begun
  try {
    plan_.base ? void(require_base()) : require_empty(plan_, held());
  } catch (...) {
    store_->remove(k_run_name);
    throw;
  }
}

void ObjectDestination::begin_replacing(std::vector<std::string> replaced) {
  run_ = new_run(std::move(replaced));
  store_->put(k_run_name, as_bytes(run_to_text(run_)));
  // Looked at again: a run that published in the meantime has seen run.json, or its manifest is seen here.
  list();
  for (const PlannedDataset& dataset : plan_.datasets) {
    if (!plan_.base) store_->remove(below_destination(dataset.subdirectory, k_manifest_name));
  }
  for (const auto& [name, object] : objects_) {
    if (name.starts_with(k_own_prefix) && name != k_run_name) store_->remove(name);
  }
}

void ObjectDestination::resume() {
  run_ = *unfinished_;
  if (plan_.base) return;
  for (const PlannedDataset& dataset : plan_.datasets) {
    const std::string name = below_destination(dataset.subdirectory, k_manifest_name);
    if (!holds(name)) continue;
    const auto text = store_->read(name);
    if (!text || parse_manifest(std::string(as_text(*text)), store_->name_of(name)).plan == plan_.fingerprint) continue;
    if (std::find(run_.replaced.begin(), run_.replaced.end(), name) == run_.replaced.end()) {
      throw Error(ErrorCode::exists, "another program has published a dataset here",
                  {.path = store_->name_of(name), .hint = "replace it with `overwrite`, or choose another prefix"});
    }
    store_->remove(name);  // of the dataset that this run replaces
  }
}

void ObjectDestination::abort_uploads() const {
  std::vector<std::string> files = run_.files;
  files.insert(files.end(), run_.replaced.begin(), run_.replaced.end());
  abort_uploads(files);
}

void ObjectDestination::abort_uploads(const std::vector<std::string>& files) const {
  const std::unordered_set<std::string> own(files.begin(), files.end());
  for (const UnfinishedUpload& upload : store_->unfinished_uploads()) {
    if (own.contains(upload.key)) store_->abort(upload);
  }
}

ManifestFile ObjectDestination::require_base() const {
  std::optional<ManifestFile> found = read_object_manifest(*store_);
  if (!found) throw Error(ErrorCode::retryable, "another run removed the dataset", {.path = options_.destination});
  const Manifest current = parse_manifest(found->text, store_->name_of(k_manifest_name));
  if (version_id(current) == plan_.base->id) return *std::move(found);
  throw other_version_published(options_.destination, current, plan_.base->id);
}

void ObjectDestination::decide(ObjectRest rest) {
  const auto there = store_->read_with_etag(k_run_name);
  const std::string before = run_to_text(run_);
  run_.rest = std::move(rest);
  const std::string text = run_to_text(run_);
  if (there && as_text(there->bytes) == before) store_->replace(k_run_name, there->etag, as_bytes(text));
  if (has_text(*store_, k_run_name, text)) return;
  require_owned();
  throw Error(ErrorCode::retryable, "was not replaced", {.path = store_->name_of(k_run_name), .hint = "run it again"});
}

void ObjectDestination::carry_out_rest() const { end_run(*store_, run_); }

void ObjectDestination::clear_published() {
  if (unfinished_ && end_decided_run(*store_, plan_.base->manifest)) list();
}

void ObjectDestination::require_owned(bool or_cleared) const {
  const auto run = read_run(*store_);
  if (run ? is_own(*run) : or_cleared) return;
  throw Error(ErrorCode::changed, "another run took the place of this one",
              {.path = options_.destination, .hint = "let one program at a time write there"});
}

ShardRecords ObjectDestination::records(const WantedShards& wanted) const {
  std::vector<std::pair<std::uint64_t, std::string>> names;
  for (const auto& [name, object] : objects_) {
    if (!name.starts_with(k_record_prefix) || !name.ends_with(k_record_suffix)) continue;
    const auto number = leading_number(std::string_view(name).substr(k_record_prefix.size()));
    if (number && wanted(*number)) names.emplace_back(*number, name);
  }
  std::vector<std::optional<ShardRecord>> found(names.size());
  run_parallel(names.size(), threads_for(names.size()), [&](std::size_t i) {
    const auto text = store_->read(names[i].second);
    if (!text) return;  // removed in the meantime
    try {
      found[i] = record_from_text(names[i].second, as_text(*text));
    } catch (const Error& error) {  // a damaged record is none: the shard is packed again
      if (error.code() != ErrorCode::damaged) throw;
    }
  });
  ShardRecords records;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (found[i]) records[names[i].first].push_back(*std::move(found[i]));
  }
  return records;
}

bool ObjectDestination::adopt(const ShardRecord& record, const std::vector<Replacement::Move>& moves) {
  const bool is_empty = record.finished.shard.num_samples == 0;
  if (record.files.size() != (is_empty ? 0 : moves.size())) return false;
  for (std::size_t i = 0; i < record.files.size(); ++i) {
    const StoredObject& file = record.files[i];
    const StoredObject* const there = find(file.key);
    if (file.key != moves[i].second || there == nullptr || *there != file) return false;
  }
  const std::lock_guard guard(mutex_);
  for (const StoredObject& file : record.files) stored_[file.key] = file;
  has_recorded_ = true;
  return true;
}

std::vector<StoredObject> ObjectDestination::store_shard(const std::vector<Replacement::Move>& moves,
                                                         const std::string& staging) {
  std::vector<StoredObject> files;
  for (const Replacement::Move& move : moves) {
    const std::string path = join_path(staging, move.first);
    files.push_back(store_->upload(move.second, path));
    ::unlink(path.c_str());
    const std::lock_guard guard(mutex_);
    stored_[move.second] = files.back();
  }
  return files;
}

void ObjectDestination::store_file(const std::string& file, const std::string& text) {
  store_->put(file, as_bytes(text));
  const std::optional<StoredObject> stored = store_->find(file);
  const std::lock_guard guard(mutex_);
  stored_[file] = stored.value_or(StoredObject{.key = file});
}

std::string ObjectDestination::record(std::uint64_t shard, const FinishedShard& finished,
                                      const std::vector<StoredObject>& files) {
  const std::string name = fmt::format("{}{}{}", k_record_prefix, record_stem(shard, finished), k_record_suffix);
  store_->put(name, as_bytes(record_text(finished, files)));
  const std::lock_guard guard(mutex_);
  has_recorded_ = true;
  return name;
}

void ObjectDestination::note_parts(std::uint64_t parts) const {
  const std::string name = fmt::format("{}{}", k_parts_prefix_of_names, parts);
  if (!holds(name)) store_->put(name, {});
}

std::vector<std::uint64_t> ObjectDestination::noted_parts() const {
  std::vector<std::uint64_t> parts;
  for (const auto& [name, object] : objects_) {
    if (!name.starts_with(k_parts_prefix_of_names)) continue;
    const auto number = leading_number(std::string_view(name).substr(k_parts_prefix_of_names.size()));
    if (number && *number != 0) parts.push_back(*number);
  }
  return parts;
}

void ObjectDestination::require_unchanged() {
  list();
  for (const auto& [name, file] : stored_) {
    const StoredObject* const there = find(name);
    if (there != nullptr && *there == file) continue;
    throw Error(ErrorCode::changed, "another program changed the object after this run stored it",
                {.path = store_->name_of(name), .hint = "let one program at a time write there, then use `resume`"});
  }
}

void ObjectDestination::remove_replaced() const {
  std::unordered_set<std::string> kept;
  for (const auto& [name, file] : stored_) kept.insert(name);
  for (const std::string& name : run_.replaced) {
    if (!kept.contains(name) && holds(name)) store_->remove(name);
  }
}

void ObjectDestination::clear() const { clear_run(*store_); }

void ObjectDestination::abandon(const std::map<std::string, std::string>& before) {
  is_abandoned_ = true;
  require_owned();
  for (const auto& [name, file] : stored_) {
    const auto old = before.find(name);
    old == before.end() ? store_->remove(name) : store_->put(name, as_bytes(old->second));
  }
  clear();
}

}  // namespace bale
