// Loader: shuffled, augmented batches of a packed dataset. The order of the samples and their augmentation do not
// depend on the number of workers and ranks, or on restarts.
//
//   bale::Loader loader{"packs/train", {.batch_size = 256, .seed = 1, .transform = bale::train_transform(224)}};
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     for (const bale::Batch& batch : loader) train(batch.pixels(), batch.labels(), batch.mask());
//   }
//
// Ownership: the Loader owns its workers and its Dataset. Batches may outlive it.
// Every method of a Loader that was moved from throws `invalid_argument`.
// Threads: a Loader is used by one thread at a time, except request_stop(). Batches may be destroyed in any thread.
// Processes: workers are separate programs (bale-worker), started on first use. They exit within a second after this
// process ends, for whatever reason. After fork(), only the parent may use a Loader and its batches; in the child their
// destructors do nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/held.hpp"
#include "bale/loader/batch.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/order/node_parts.hpp"
#include "bale/reader/order/selection.hpp"

namespace bale {

namespace cuda_detail {
class CudaSession;
}

/// A position in the stream of batches. With it, another process can continue, with any world size, batch size and
/// number of workers. With Shuffle::node_local() the nodes and their ranks change only between epochs.
struct LoaderState {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;           // deliveries of the epoch that were consumed, over all ranks
  std::uint64_t fingerprint = 0;        // of dataset, selection, shuffle and seed; below 2^63
  std::uint64_t dataset = 0;            // Dataset::identity(), by which a refused state names its version; 0: unknown
  Nodes nodes{.count = 0, .ranks = 0};  // Shuffle::node_local(), within an epoch: only they can continue; else 0 and 0
  /// Of shards without an index that were not all counted when the loader was opened: how many of them have the
  /// samples before the position, and a hash of keys, labels and sizes in these; else 0 and 0.
  std::uint64_t shards = 0;
  std::uint64_t content = 0;

  /// One line, which Python's loaders read: json.loads() makes it an argument of load_state_dict().
  std::string to_json() const;
  /// Reads what to_json() or, in Python, json.dumps(loader.state_dict()) wrote. Throws `invalid_argument` for anything
  /// else.
  static LoaderState from_json(std::string_view json);

  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

/// A sample that could not be read or decoded.
struct BadSample {
  enum class Action : std::uint8_t { failed, skipped, substituted };

  std::uint64_t sample = 0;
  std::string key;
  std::string shard;   // path
  std::string reason;  // one line
  std::uint64_t epoch = 0;
  Action action = Action::failed;
  bool quarantined = false;  // it crashed or stalled workers repeatedly and is not tried again
};

/// Counters since the Loader was made.
struct LoaderCounters {
  std::uint64_t batches = 0;           // delivered
  std::uint64_t samples = 0;           // delivered rows with mask 1
  std::uint64_t batches_copied = 0;    // delivered as copies, because the caller keeps many batches
  std::uint64_t workers_replaced = 0;  // died or stalled, and were started again
  std::uint64_t bad_samples = 0;       // size of bad_samples()
  double wait_seconds = 0;             // spent in next() waiting for a batch
};

class Loader {
 public:
  /// Opens the dataset. Workers are started by the first next() or start(). Throws what Dataset::open() and checked()
  /// throw, `invalid_argument` for a rank that is not below world_size and for a field that no sample has,
  /// `unsupported` for a ragged transform if an index does not have the sizes of the images, and `unsupported` and
  /// `damaged` for fields of arrays that batches do not carry. With Shuffle::node_local(), `invalid_argument` if it is
  /// not known which ranks share a node, or if the selection draws.
  Loader(const std::string& spec, LoaderOptions options = {});
  /// The same for a selection of samples. Throws `invalid_argument` if it was made for a dataset of another size.
  Loader(const std::string& spec, LoaderOptions options, Selection selection);
  /// Stops the workers. Batches that are held stay valid.
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  /// Starts the workers, if they do not run. Throws `not_found` if bale-worker is not found, `io` if it cannot be
  /// started.
  void start();

  /// Waits for the next batch. Returns nullopt once at the end of each epoch; the call after that starts the next epoch
  /// (set_epoch() is not needed). Starts the workers if necessary. Throws
  ///   `damaged`           OnBadSample::fail and a bad sample: the next call throws again; or OnBadSample::substitute
  ///                       and 65 bad samples in a row
  ///   `invalid_argument`  the caller holds all slots of the ring (only without copy_when_held)
  ///   `retryable`         a worker has waited for a sample's bytes for longer than storage_timeout_s
  ///   `out_of_memory`     memory or threads are lacking, whatever OnBadSample says: the next call tries again
  ///   `not_found`, `io`, `changed`, `retryable`  a shard cannot be read, so no sample is at fault, whatever
  ///   OnBadSample
  ///                       says: the next call tries again
  ///   `interrupted`       request_stop() was called
  /// and what start() throws.
  [[nodiscard]] std::optional<Batch> next();
  /// The same. While it waits, it calls `on_wait` at least every 50 ms (with workers = 0: before every sample), on the
  /// calling thread and without holding a lock. `on_wait` may throw, which ends the wait; the next call waits for the
  /// same batch. It may use this Loader, but next(), set_epoch() and load_state() throw `invalid_argument` there, as in
  /// LoaderOptions::on_event.
  [[nodiscard]] std::optional<Batch> next(const std::function<void()>& on_wait);

  /// Ends the call of next() that waits now, or the next one, by the error `interrupted`. Nothing is lost: the call
  /// after that continues. Any thread may call it, not a signal handler.
  void request_stop();

  /// Whether next() would return without waiting for workers.
  bool ready() const;

  /// Goes to the beginning of an epoch. Does nothing if the loader is there already. Otherwise waits until the workers
  /// have finished the rows that they are working on.
  void set_epoch(std::uint64_t epoch);
  std::uint64_t epoch() const;

  /// Number of batches of the current epoch, the same on every rank. After load_state(), the batches that are left. If
  /// !is_counted(), this counts first, which scans all shards.
  std::uint64_t size() const;
  /// Whether the number of samples is known. Shards that have neither a manifest nor an index are scanned while they
  /// are read, if the order begins in stored order (Shuffle::none(), the first epoch of Shuffle::stream()), with a
  /// transform of fixed shape and without a selection, fields, seek_point_cache_bytes and OnBadSample::substitute.
  /// Batches then come before the last shards were opened, and errors of those shards come from next(). Dataset::size()
  /// and what else needs all shards waits for them.
  bool is_counted() const;

  /// The position after the last batch that next() returned.
  LoaderState state() const;
  /// Continues where `state` was taken. Waits as set_epoch() does. Throws `invalid_argument` if the state is of another
  /// dataset, selection, shuffle or seed, or if it was taken within an epoch of a node-local shuffle on other nodes.
  void load_state(const LoaderState& state);

  /// The dataset, which lives as long as the Loader.
  const Dataset& dataset() const BALE_LIFETIMEBOUND;
  /// The options, as checked() completed them.
  const LoaderOptions& options() const BALE_LIFETIMEBOUND;
  /// Every bad sample of the batches so far, once, in the order in which they were met.
  std::vector<BadSample> bad_samples() const;
  LoaderCounters counters() const;
  /// Process ids of the running workers; empty for threads.
  std::vector<int> worker_pids() const;
  /// The memory of the pixels of all slots, in whole pages, so that a caller can page-lock it once. It lives as long as
  /// this Loader or any of its batches that is not a copy.
  MutableBytes pixel_memory() const;

  /// The batches up to the end of the epoch, by next(): for (const Batch& batch : loader). A loop that was left by
  /// `break` is continued by the next one. To keep a batch, move it.
  class Iterator;
  Iterator begin() BALE_LIFETIMEBOUND;
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class cuda_detail::CudaSession;  // one of its threads waits for workers
  Held<std::shared_ptr<loader_detail::Session>> session_;
};

/// An input iterator, which holds the batch that it is at.
class Loader::Iterator {
 public:
  explicit Iterator(Loader& loader) : loader_(&loader), batch_(loader.next()) {}

  Batch& operator*() { return *batch_; }
  Iterator& operator++() {
    batch_.reset();  // its slot is free before next() waits
    batch_ = loader_->next();
    return *this;
  }
  friend bool operator==(const Iterator& at, std::default_sentinel_t) { return !at.batch_; }

 private:
  Loader* loader_;
  std::optional<Batch> batch_;
};

inline Loader::Iterator Loader::begin() { return Iterator(*this); }

}  // namespace bale
