#include "bale/writer/run/objects/object_run_store.hpp"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/publish/run_store.hpp"
#include "bale/writer/run/objects/object_decision.hpp"
#include "bale/writer/run/objects/object_manifest.hpp"

namespace bale {

ObjectRunStore::ObjectRunStore(const PackOptions& options, const Plan& plan, const Progress& progress)
    : options_(options),
      plan_(plan),
      progress_(progress),
      destination_(options, plan, plan.fingerprint, false, progress) {
  destination_.list();
}

ObjectRunStore::ObjectRunStore(const PackOptions& options, const PlanFile& plan, std::uint64_t parts,
                               const Progress& progress)
    : options_(options),
      plan_(plan.plan()),
      parts_(parts),
      progress_(progress),
      destination_(options, plan.plan(), plan.digest(), true, progress) {
  destination_.list();
}

std::vector<Manifest> ObjectRunStore::manifests() {
  if (plan_.base) return {};
  published_ = destination_.is_of_parts() ? destination_.finished_manifests()
                                          : manifests_to_resume(destination_, options_, plan_);
  return published_;
}

std::vector<Manifest> ObjectRunStore::begin(const std::vector<Slot>& slots) {
  if (published_.empty()) destination_.is_of_parts() ? join(slots) : begin_pack();
  return published_;
}

void ObjectRunStore::begin_pack() {
  if (plan_.base) destination_.clear_published();
  ObjectDecision decision = decide(destination_, options_, plan_);
  resumes_ = decision.resumes;
  if (!resumes_ && !decision.stay.empty() && options_.on_warning) options_.on_warning(decision.stay);
  staging();  // also removes what killed runs left
  if (resumes_) {
    destination_.resume();
  } else if (options_.mode != DestinationMode::overwrite || (plan_.base && !destination_.unfinished())) {
    destination_.begin();
  } else {
    for (const OldDataset& old : decision.old) replaced_.push_back(report_of_replaced(options_, old));
    is_replacing_ = !decision.known.empty();
    destination_.begin_replacing(std::move(decision.known));
  }
  destination_.abort_uploads();
}

void ObjectRunStore::join(const std::vector<Slot>& slots) {
  require_may_join(destination_, options_, plan_);
  destination_.unfinished() ? destination_.resume() : destination_.begin();
  resumes_ = true;
  if (parts_ != 0) destination_.note_parts(parts_);
  std::vector<std::string> files;
  for (const Slot& slot : slots) {
    for (const Replacement::Move& move : moves_of(options_, slot)) files.push_back(move.second);
  }
  destination_.abort_uploads(files);
}

void ObjectRunStore::abandon(const Error*) {
  const bool resumes = options_.mode == DestinationMode::resume && !plan_.rewritten;
  if (destination_.has_recorded() || is_replacing_ || resumes) return;
  try {
    destination_.abandon();
  } catch (...) {  // `overwrite` removes it
  }
}

void ObjectRunStore::begin_merge() {
  if (!destination_.is_unfinished_plan()) return;
  destination_.resume();
  resumes_ = true;
}

ShardRecords ObjectRunStore::records(const WantedShards& wanted) {
  return resumes_ ? destination_.records(wanted) : ShardRecords{};
}

bool ObjectRunStore::is_intact(const Slot& slot, const ShardRecord& record, CheckDepth depth) {
  const FinishedShard& finished = record.finished;
  if (!record.name.empty()) {
    // A shard that left samples out under another policy is written again.
    const bool is_kept = finished.skipped.empty() || finished.on_error == on_error_name(options_.on_error);
    return is_kept && (finished.checked_images || !options_.check_images) &&
           destination_.adopt(record, moves_of(options_, slot));
  }
  if (finished.shard.num_samples == 0) return finished.shard.digest.empty();
  if (!is_published(slot, finished.shard, depth)) return false;
  return destination_.is_of_parts() || !options_.check_images ||
         has_checked_images(final_path(options_, slot), options_, progress_);
}

/// Whether the files of a shard of a published dataset are there: all names, the size, and the digest in the index.
/// Reads no shard.
bool ObjectRunStore::is_published(const Slot& slot, const ManifestShard& shard, CheckDepth depth) const {
  const std::vector<Replacement::Move> moves = moves_of(options_, slot);
  const std::string& file = moves.back().second;
  const StoredObject* const object = destination_.find(file);
  if (object == nullptr || object->size != shard.bytes) return false;
  if (depth == CheckDepth::size) return true;
  const auto is_there = [&](const Replacement::Move& move) { return destination_.holds(move.second); };
  if (!std::all_of(moves.begin(), moves.end(), is_there)) return false;
  for (const std::string& sidecar : shard.sidecars) {
    if (!has_file(*slot.dataset, sidecar)) return false;
  }
  auto bytes = destination_.store().read(index_path(file));
  if (!bytes) return false;
  try {
    const ShardIndex index = ShardIndex::from_bytes(std::move(*bytes), destination_.store().name_of(index_path(file)));
    return index.digest() && digest_text(*index.digest()) == shard.digest;
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
    return false;
  }
}

/// Made when a pack begins, or a part is about to write its first shard. Also tries the format's options there.
const std::string& ObjectRunStore::staging() {
  std::call_once(staging_once_, [this] {
    staging_.emplace(options_.staging_directory);
    try_format_options(options_, staging_->path());
  });
  return staging_->path();
}

FinishedShard ObjectRunStore::write(Slot& slot, const WriteShard& write) {
  const std::string& directory = staging();
  try {
    return write(slot, join_path(directory, moves_of(options_, slot).back().first));
  } catch (const Error& error) {
    // The error names the shard's final name, which has nothing to do with the local disk.
    if (error.context().system_error == 0 || !error.context().path.starts_with(options_.destination)) throw;
    ErrorContext context = error.context();
    context.path = directory;
    context.hint = "name a directory with more room as `staging_dir`, or pack smaller shards or with fewer `jobs`";
    throw Error(error.code(), error.message(), std::move(context));
  }
}

std::string ObjectRunStore::publish(const Slot& slot, const FinishedShard& finished) {
  const bool mends = !published_.empty();
  if (!mends && !destination_.is_of_parts()) destination_.require_owned();
  const std::vector<Replacement::Move> moves = moves_of(options_, slot);
  std::vector<StoredObject> files;
  if (finished.shard.num_samples != 0) {
    files = destination_.store_shard(moves, staging());
  } else if (destination_.is_of_parts()) {
    // Of an earlier attempt, which read a sample that cannot be read any more.
    for (const Replacement::Move& move : moves) destination_.store().remove(move.second);
  }
  return mends ? std::string{} : destination_.record(slot.number, finished, files);
}

bool ObjectRunStore::has_file(const PlannedDataset& dataset, const std::string& name) const {
  return destination_.holds(below_destination(dataset.subdirectory, name));
}

/// Calls what throws if another version was published. Then this run cannot be continued.
void ObjectRunStore::with_base(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::retryable) throw;
    try {
      const auto now = read_object_manifest(destination_.store());
      const bool is_base = now && version_id(parse_manifest(now->text, {})) == plan_.base->id;
      if (now && !is_base) destination_.abandon(before_);
    } catch (const Error&) {  // `restart` removes it
    }
    throw;
  }
}

std::string ObjectRunStore::text_of(const PlannedDataset& dataset, const std::string& name) {
  const ObjectStore& store = destination_.store();
  if (name == k_manifest_name) {
    with_base([&] { base_ = destination_.require_base(); });
    return base_.text;
  }
  const std::string file = below_destination(dataset.subdirectory, name);
  const auto content = store.read(file);
  if (!content) throw Error(ErrorCode::not_found, "no such object", {.path = store.name_of(file)});
  return std::string(as_text(*content));
}

void ObjectRunStore::stage_file(const WriteFile& write) {
  const std::string path = join_path(staging(), fmt::format("change-{}", num_staged_++));
  destination_.store().upload(write(path), path);
  ::unlink(path.c_str());
}

/// Whether a file is the manifest of the base, which stays.
bool ObjectRunStore::is_base_kept_by(const std::string& name) const {
  const std::vector<GoneVersion>& gone = plan_.rewritten->gone;
  return name == kept_version(plan_.base->id) &&
         std::none_of(gone.begin(), gone.end(), [&](const GoneVersion& one) { return one.id == plan_.base->id; });
}

void ObjectRunStore::publish_file(const PlannedDataset& dataset, const std::string& name, const std::string& text) {
  const std::string file = below_destination(dataset.subdirectory, name);
  if (plan_.rewritten && !is_base_kept_by(name)) {  // until the manifest is replaced, the base is as it was
    rest_.written.emplace_back(file, text);
    return;
  }
  if (plan_.base) {
    const auto old = destination_.store().read(file);
    if (name == kept_version(plan_.base->id)) {
      before_.emplace(file, text);  // another run that replaces the base keeps it, too
    } else if (old) {
      before_.emplace(file, as_text(*old));
    }
  }
  destination_.store_file(file, text);
  forget_version(destination_.store().name_of(file));
}

void ObjectRunStore::publish_manifest(const PlannedDataset& dataset, const std::string& text) {
  manifests_.emplace_back(below_destination(dataset.subdirectory, k_manifest_name), text);
}

std::vector<PackReport::Replaced> ObjectRunStore::finish(const FinishedShards&) {
  const ObjectStore& store = destination_.store();
  destination_.require_owned();
  destination_.require_unchanged();
  destination_.abort_uploads();
  if (!plan_.base) destination_.remove_replaced();
  if (plan_.rewritten) {
    rest_.moved = plan_.rewritten->moved;
    rest_.removed = plan_.rewritten->removed;
    destination_.decide(std::move(rest_));
  }
  for (const auto& [name, text] : manifests_) {
    if (plan_.base) {
      with_base([&, &manifest = text] { replace_object_manifest(store, options_.destination, base_, manifest); });
      continue;
    }
    // The same content is that of an earlier try, or of another run of the same plan.
    if (store.put_if_absent(name, as_bytes(text)) || has_text(store, name, text)) continue;
    throw Error(ErrorCode::exists, "another program has published a dataset here",
                {.path = store.name_of(name), .hint = "replace it with `overwrite`, or choose another prefix"});
  }
  try {
    // A run that replaces this one looks for manifests after it took its place: one of the two sees the other.
    destination_.require_owned(plan_.base != nullptr);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::changed) withdraw();
    throw;
  }
  // Not before: they may be of a run that publishes in the meantime.
  if (plan_.base) destination_.remove_replaced();
  destination_.carry_out_rest();
  for (const auto& [name, text] : manifests_) forget_version(store.name_of(name));
  return std::move(replaced_);
}

void ObjectRunStore::withdraw() const {
  const ObjectStore& store = destination_.store();
  for (const auto& [name, text] : manifests_) {
    const std::optional<ObjectContent> now = store.read_with_etag(name);
    if (!now || as_text(now->bytes) != text) continue;
    if (plan_.base) {
      store.replace(name, now->etag, as_bytes(base_.text));
    } else {
      store.remove(name);
    }
  }
}

}  // namespace bale
