// RunStore: where a run puts its shards, and what it remembers there of those that are finished. pack(), pack_part(),
// merge_parts() and Writer are written over it. There are three:
//   JournalStore    a directory that one run has locked; a journal has the records
//   PartDirectory   a directory that parts of a plan share without locks; each record is a file
//   ObjectRunStore  an object store
//
// A shard is written under a temporary name on a local disk, and published when it is complete: recorded, and given its
// final name. A later run adopts what the records say, if it is still there. The manifests come last.
//
// Threads: is_intact(), write(), publish(), forget() and made_by_another() may be called by many threads at once, for
// different shards; all else by one. Errors: those of pack().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/journal/dataset_switch.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"

namespace bale {

/// One shard of a run and, when it is finished, its result.
struct Slot {
  std::uint64_t number = 0;  // over all datasets of the plan
  const PlannedDataset* dataset = nullptr;
  PlannedShard shard{};
  std::optional<FinishedShard> finished{};
  bool is_resumed = false;                       // an earlier run finished it
  std::optional<std::string> expected_digest{};  // of a shard of a published dataset; empty: it has no samples
  std::vector<std::string> stale{};              // names of records that are not true of what is there
};

/// All shards of a plan, in order.
std::vector<Slot> slots_of(const Plan& plan);

/// Temporary and final names of all files of a shard: sidecars, index, seek points and, last, the shard itself. When
/// the shard has its final name, all its files have theirs.
std::vector<Replacement::Move> moves_of_shard(const PackOptions& options, const PlannedDataset& dataset,
                                              const PlannedShard& shard);
std::vector<Replacement::Move> moves_of(const PackOptions& options, const Slot& slot);

/// The final name of a shard, for messages and readers.
std::string final_path(const PackOptions& options, const Slot& slot);

/// The finished shards of each dataset of a plan, in order.
using FinishedShards = std::vector<std::vector<FinishedShard>>;

/// What says of a shard that it was finished.
struct ShardRecord {
  std::string name{};  // of the record; empty if it is a journal's line, or if a manifest says it
  FinishedShard finished;
  std::vector<StoredObject> files{};  // as an object store had them
};
/// By number of the shard.
using ShardRecords = std::map<std::uint64_t, std::vector<ShardRecord>>;
using WantedShards = std::function<bool(std::uint64_t number)>;

/// What the name of a shard's record consists of, if records are files: two attempts that wrote the same bytes make one
/// record, others make two, which is noticed. `number`, 7 digits, comes first.
std::string record_stem(std::uint64_t number, const FinishedShard& finished);
/// The number at the beginning of a name, if a '.' or the end follows.
std::optional<std::uint64_t> leading_number(std::string_view name);

/// How closely a shard is compared with what its record says. Each includes those before it.
enum class CheckDepth {
  size,     // of the shard
  index,    // all files are there, and the index and the shard's ends agree with the record
  content,  // the shard's bytes have the recorded digest; an object store is asked for the ETags instead
};

/// Writes a shard and the files next to it under the temporary name `staged`, as write_shard() does. The same plan must
/// always lead to the same bytes.
using WriteShard = std::function<FinishedShard(const Slot& slot, const std::string& staged)>;

/// Writes a file under the temporary name `staged`, durably, and returns its name below the dataset's directory.
using WriteFile = std::function<std::string(const std::string& staged)>;

class RunStore {
 public:
  virtual ~RunStore() = default;

  /// The manifests of the plan's datasets if all are published, in order; else empty. Changes nothing.
  virtual std::vector<Manifest> manifests() = 0;
  /// Begins the run, or continues what an earlier one left. Throws `exists` if other things are in the way, and
  /// `retryable` if another run is at work. Returns manifests() as they are then.
  virtual std::vector<Manifest> begin(const std::vector<Slot>& slots) = 0;
  /// Leaves nothing of a run that finished no shard because of `error` (nullptr: one of another type), if nothing was
  /// there before and nobody can continue it.
  virtual void abandon(const Error* error) = 0;

  /// What is recorded of the shards that `wanted` takes. A damaged record is none.
  virtual ShardRecords records(const WantedShards& wanted) = 0;
  /// Whether a shard is there as recorded. One without samples has no file.
  virtual bool is_intact(const Slot& slot, const ShardRecord& record, CheckDepth depth) = 0;
  /// Removes a record; not an error if it is gone.
  virtual void forget(const std::string& record) = 0;

  /// Has a shard written under its temporary name.
  virtual FinishedShard write(Slot& slot, const WriteShard& write) = 0;
  /// Records a shard that is complete under its temporary name and, at once or in finish(), gives its files their final
  /// names. Returns the record's name.
  virtual std::string publish(const Slot& slot, const FinishedShard& finished) = 0;
  /// What another process made of a shard that this one failed to write.
  virtual std::optional<FinishedShard> made_by_another(const Slot&) { return std::nullopt; }

  /// Whether a file next to the shards of a dataset is there.
  virtual bool has_file(const PlannedDataset& dataset, const std::string& name) const = 0;
  /// Of a file next to the shards of the plan's base. Of its manifest: throws `retryable` if it is another version's.
  virtual std::string text_of(const PlannedDataset& dataset, const std::string& name);
  virtual void publish_file(const PlannedDataset& dataset, const std::string& name, const std::string& text) = 0;
  /// Has a file written that finish() publishes before the manifest, of a run whose only dataset has a base. A run that
  /// continues this one has it written again. Throws `unsupported` if the store has no such runs.
  virtual void stage_file(const WriteFile& write);
  /// To be called after all other files of the dataset are published.
  virtual void publish_manifest(const PlannedDataset& dataset, const std::string& text) = 0;
  /// Ends a run whose manifests are published, and removes what it kept. `finished` are all shards of the plan. Returns
  /// the older datasets that the new ones replace from now on.
  virtual std::vector<PackReport::Replaced> finish(const FinishedShards& finished) = 0;
  /// Removes what runs keep, because the datasets are published.
  virtual void clear() = 0;
};

/// A store that several processes share, each of which packs a part of the shards.
class PartStore : public RunStore {
 public:
  void abandon(const Error*) override {}  // others may have begun
  /// Instead of begin(): continues what the parts left, to publish it. Does nothing if there are none.
  virtual void begin_merge() = 0;
  /// Looks again at what others did.
  virtual void refresh() = 0;
  /// Of how many parts those that ran were; several if they disagree.
  virtual std::vector<std::uint64_t> noted_parts() = 0;
  /// Removes what killed attempts at these finished shards left.
  virtual void remove_staged(const std::vector<Slot>& slots) = 0;
};

// Checks that the files of an earlier run are still present and unchanged.

/// Whether `path` is a regular file, not a symbolic link to one.
bool is_file(const std::string& path);

/// Whether a shard and all its files exist and agree with what is recorded, `index` or `content` deep. `moves` lists
/// the files, the shard last. They are expected in `partial_directory` under their temporary names, or, if it is empty,
/// at the destination.
bool is_intact(const std::vector<Replacement::Move>& moves, const PackOptions& options, const FinishedShard& recorded,
               const std::string& partial_directory, CheckDepth depth);

/// Whether the index of a shard says of every image what decoding it says (PackOptions::check_images).
bool has_checked_images(const std::string& path, const PackOptions& options, const Progress& progress);

}  // namespace bale
