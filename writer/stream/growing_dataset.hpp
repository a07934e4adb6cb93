// GrowingDataset: the dataset that a Writer writes: its destination, its shards so far, and what an earlier run left
// there.
//
// Threads: one at a time calls adopt_finished(), publish(), finish() and leave(). find() and counts may be called at
// any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/shard/shard_index.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/run/journal_store.hpp"
#include "bale/writer/stream/sample_log.hpp"

namespace bale {

class GrowingDataset {
 public:
  /// Called for each sample that an earlier run wrote.
  using OnKey = std::function<void(std::string_view)>;

  /// Prepares the destination as DestinationMode says. `may_be_empty`: finish() takes a dataset without samples. Throws
  /// what Writer's constructor throws. Options and classes must outlive this object.
  GrowingDataset(const PackOptions& options, const std::vector<std::string>& classes, bool may_be_empty);

  /// Adopts the shards of an earlier run and what it left waiting: one log per shard, in order. Checks the
  /// shards. Calls `on_key` for the samples of both. Appends the names of their fields to `fields`.
  std::vector<std::shared_ptr<SampleLog>> adopt_finished(const OnKey& on_key, std::vector<std::string>& fields);

  /// Whether the destination holds the finished dataset of these options. Then only report(), find() and counts may be
  /// called.
  bool is_complete() const { return complete_.has_value(); }
  /// Of the finished dataset.
  PackReport report() const;

  const PlannedDataset& planned() const { return plan_.datasets.front(); }
  /// Name of a shard. Its final name, unless that depends on the number of shards.
  std::string shard_file(std::uint64_t shard) const;
  std::string staged_path(std::uint64_t shard) const { return store_.journal().staged_path(shard_file(shard)); }
  std::string pending_path(std::uint64_t shard) const;
  std::string partial_directory() const { return store_.journal().path_of({}); }

  std::uint64_t num_shards() const;
  /// Samples in recorded shards, with those that were skipped.
  std::uint64_t num_samples() const;
  /// The place of this key in a recorded shard, as text. Opens the indexes of the shards one after another, and
  /// remembers the last in which it found one.
  std::optional<std::string> find(std::string_view key) const;

  /// Records and publishes a shard that is complete under its temporary name. Call it in the order of shards.
  void publish(FinishedShard&& finished);
  /// Makes the names of temporary files durable, on which a staged run depends.
  void sync_names() const;
  /// Publishes manifest and lists and, if the run is staged, all shards.
  PackReport finish(bool encoded_keys);
  /// Leaves the destination as it was found. For a run that recorded nothing.
  void leave() { store_.abandon(nullptr); }
  /// Gives the lock of the destination back. Nothing else may be called afterwards.
  void release() { store_.release(); }

 private:
  struct Shard {
    std::uint64_t first = 0;  // number of its first sample
    std::uint64_t count = 0;  // of samples, with those that were skipped
    FinishedShard finished;
  };

  bool is_staged() const { return store_.is_staged(); }
  std::string path_of_index(const FinishedShard& finished) const;
  void take_complete(Manifest manifest);
  void adopt_shards(const OnKey& on_key, std::vector<std::string>& fields);
  bool finish_publishing(const FinishedShard& finished) const;
  void add(FinishedShard finished);
  FinishedShard with_final_names(const FinishedShard& finished, std::uint64_t shard) const;

  const PackOptions& options_;
  const std::vector<std::string>& classes_;
  const bool may_be_empty_;
  Plan plan_;
  const Progress progress_;  // nobody stops it
  JournalStore store_;
  std::optional<Manifest> complete_;
  std::uint64_t num_resumed_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Shard> shards_;
  mutable std::mutex search_mutex_;
  mutable std::optional<std::pair<std::string, ShardIndex>> searched_;  // name and index of a shard
};

}  // namespace bale
