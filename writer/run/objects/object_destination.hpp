// ObjectDestination: a dataset in an object store that a run writes to: what is there, what the run has finished, and
// who owns the unfinished run.
//
// A shard is built on a local disk and uploaded. When all its files are there, a record of it is stored under
// .bale-partial/, with the size and ETag that the server gave each file. Shards of an earlier run are adopted if
// the server lists these sizes and ETags. An object store has no locks: of two runs that begin, the one whose run.json
// is stored first (If-None-Match) continues; a run that another replaced stops before its next upload.
//
// Threads: adopt(), store_shard(), record() and require_owned() may be called by many threads at once, all else by one.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/plan/plan_facts.hpp"
#include "bale/writer/publish/held_datasets.hpp"
#include "bale/writer/publish/run_store.hpp"
#include "bale/writer/run/objects/object_manifest.hpp"

namespace bale {

/// Of the file that an unfinished run keeps in an object store.
inline constexpr const char* k_run_name = ".bale-partial/run.json";

/// What is to be done after a run has published, or decided to remove versions. It can be repeated from any point, and
/// any run does so that finds it. Names are relative to the destination.
struct ObjectRest {
  std::vector<std::pair<std::string, std::string>> moved{};    // names and new names
  std::vector<std::pair<std::string, std::string>> written{};  // names and texts
  std::vector<std::string> removed{};

  friend bool operator==(const ObjectRest&, const ObjectRest&) = default;
};

/// What is in it.
///
/// It is written before the first file of a dataset and removed after the manifest, so the objects of an unfinished run
/// are known by it, and by the owner a run sees that another one took its place.
struct ObjectRun {
  std::string plan{};                   // fingerprint of a pack, or digest of a plan file
  PlanFacts facts{};                    // of the plan; empty in a record of an earlier version
  std::string owner{};                  // made by each run that begins; the digest of a plan file
  bool is_parts = false;                // of a plan file
  std::vector<std::string> files{};     // that the run may write, relative to the destination
  std::vector<std::string> replaced{};  // of an older dataset, which the run removes
  ObjectRest rest{};
  bool is_decided = false;  // the rest does not depend on what is published

  friend bool operator==(const ObjectRun&, const ObjectRun&) = default;
};

/// Ends a run that was interrupted after it had decided, or published the version `current`. Returns false if another
/// one is unfinished.
bool end_decided_run(const ObjectStore& store, const Manifest& current);

std::optional<ObjectRun> read_run(const ObjectStore& store);

/// Removes versions and files, in one step that an interruption does not divide. Throws `retryable` if another run is
/// at work.
void end_with(const ObjectStore& store, const std::string& directory, ObjectRest rest);

class ObjectDestination {
 public:
  /// `id` is that of the run's plan. All arguments must outlive this object.
  ObjectDestination(const PackOptions& options, const Plan& plan, std::string id, bool is_parts,
                    const Progress& progress);

  const ObjectStore& store() const { return *store_; }
  /// Whether the unfinished run is of this plan.
  bool is_unfinished_plan() const { return unfinished_ && unfinished_->plan == id_; }
  bool is_of_parts() const { return is_parts_; }
  /// Lists the objects again. To be called first.
  void list();
  bool holds(const std::string& file) const { return objects_.contains(file); }
  const StoredObject* find(const std::string& file) const;

  /// The unfinished run that was there when list() was called.
  const std::optional<ObjectRun>& unfinished() const { return unfinished_; }
  /// As finished_manifests() of a directory.
  std::vector<Manifest> finished_manifests() const;
  /// What is there, except what unfinished runs keep. Borrows from this object.
  HeldDatasets held() const;
  /// Throws `exists` if a file that is not one of `ours` has the name of one that this run will write.
  void require_way_is_free(const std::vector<std::string>& ours) const;

  /// Begins a run. Throws `retryable` if another one began in the meantime.
  void begin();
  /// Begins a run that takes the place of whatever is there. `replaced` are files that it removes at the end. The older
  /// datasets lose their manifests now.
  void begin_replacing(std::vector<std::string> replaced);
  /// Continues the unfinished run.
  void resume();
  /// Aborts what killed runs began to upload, of files that this run may write, or of `files` only.
  void abort_uploads() const;
  void abort_uploads(const std::vector<std::string>& files) const;
  /// Throws `changed` if another run took the place of this one; with `or_cleared` not if there is none any more, which
  /// has seen that this one published.
  void require_owned(bool or_cleared = false) const;
  /// Stores what the run does after it has published. Throws `changed` if another run took its place.
  void decide(ObjectRest rest);
  /// Does it, and ends the run.
  void carry_out_rest() const;
  /// The manifest of the dataset, if it is that of the plan's base; else throws `retryable`.
  ManifestFile require_base() const;
  /// Ends a run that has published the present version, or decided. To be called after list().
  void clear_published();

  /// As RunStore::records().
  ShardRecords records(const WantedShards& wanted) const;
  /// Whether the server lists the files of a record as they were uploaded. They are then known to be this run's.
  bool adopt(const ShardRecord& record, const std::vector<Replacement::Move>& moves);
  /// Uploads the files of a shard, the shard itself last, and removes the local ones.
  std::vector<StoredObject> store_shard(const std::vector<Replacement::Move>& moves, const std::string& staging);
  /// Stores a file next to the shards.
  void store_file(const std::string& file, const std::string& text);
  /// Returns the record's name.
  std::string record(std::uint64_t shard, const FinishedShard& finished, const std::vector<StoredObject>& files);
  bool has_recorded() const { return has_recorded_; }

  /// Notes that the shards are divided among `parts` parts.
  void note_parts(std::uint64_t parts) const;
  std::vector<std::uint64_t> noted_parts() const;

  /// Throws `changed` if files that this run stored or adopted are no longer what they were. Lists again.
  void require_unchanged();
  /// Removes the files of the older datasets that the run did not write again.
  void remove_replaced() const;
  /// Removes what the run keeps. Its own record goes last.
  void clear() const;
  /// Removes all that this run stored, also if the run was stopped, or stores again what was there `before`. For one
  /// that nobody can continue.
  void abandon(const std::map<std::string, std::string>& before = {});

 private:
  ObjectRun new_run(std::vector<std::string> replaced) const;
  std::vector<std::string> planned_files() const;
  bool is_own(const ObjectRun& run) const;

  const PackOptions& options_;
  const Plan& plan_;
  const std::string id_;
  const bool is_parts_;
  std::atomic<bool> is_abandoned_{false};
  const std::unique_ptr<const ObjectStore> store_;
  std::map<std::string, StoredObject> objects_;
  std::optional<ObjectRun> unfinished_;
  ObjectRun run_;  // of this run, when it has begun
  mutable std::mutex mutex_;
  std::map<std::string, StoredObject> stored_;  // files that this run stored or adopted
  bool has_recorded_ = false;
};

}  // namespace bale
