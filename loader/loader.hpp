// Loader: shuffled, augmented batches of a packed dataset, the same ones for any number of workers, ranks and restarts.
//
//   bale::Loader loader{"packs/train", {.batch_size = 256, .seed = 1, .transform = bale::train_transform(224)}};
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     while (auto batch = loader.next()) train(batch->pixels(), batch->labels(), batch->mask());
//   }
//
// Threads: one thread at a time calls a Loader; batches may be destroyed in any. Processes: workers are programs of
// their own, started on first use and gone within a second of this process, however it ends. After fork only the parent
// may use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/loader/batch.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/order/selection.hpp"

namespace bale {

/// Where a stream of batches is: enough to go on in another process, at any world size, batch size and worker count.
struct LoaderState {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;     // deliveries of the epoch that are consumed, over all ranks
  std::uint64_t fingerprint = 0;  // of dataset, selection, shuffle and seed; below 2^63

  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

/// A sample that was not delivered as it should have been.
struct BadSample {
  enum class Action : std::uint8_t { failed, skipped, substituted };

  std::uint64_t sample = 0;
  std::string key;
  std::string shard;   // path
  std::string reason;  // one line
  std::uint64_t epoch = 0;
  Action action = Action::failed;
  bool quarantined = false;  // it ended its worker repeatedly and is not tried again
};

/// What the loader has done so far.
struct LoaderCounters {
  std::uint64_t batches = 0;           // delivered
  std::uint64_t samples = 0;           // delivered rows with mask 1
  std::uint64_t batches_copied = 0;    // delivered as copies, because the caller keeps many
  std::uint64_t workers_replaced = 0;  // died or stalled, and were started anew
  std::uint64_t bad_samples = 0;       // so many does bad_samples() name
  double wait_seconds = 0;             // spent in next() waiting for a batch
};

class Loader {
 public:
  /// Opens the dataset; workers start with the first next() or start(). Throws what Dataset::open throws, and
  /// `invalid_argument`.
  Loader(const std::string& spec, LoaderOptions options = {});
  /// The same over part of the dataset, or draws from it; `selection` is of this dataset's size.
  Loader(const std::string& spec, LoaderOptions options, Selection selection);
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  /// Starts the workers ahead of the first next().
  void start();

  /// The next batch; nullopt once at the end of each epoch, after which the next epoch begins (no set_epoch needed).
  /// Throws the `Error` of a bad sample under OnBadSample::fail (calling again throws again), `invalid_argument` when
  /// all slots of the ring are held by batches that the caller keeps (without copy_when_held only), `io` where workers
  /// cannot be started.
  std::optional<Batch> next();
  /// The same for callers that must look after something else while they wait, such as signals: `on_wait` is called
  /// every 50 ms at the latest (between samples without workers), by the calling thread and under no lock. It may
  /// throw, which ends the wait; the next call waits for the same batch.
  std::optional<Batch> next(const std::function<void()>& on_wait);

  /// Whether next() would return, or give nullopt, without waiting for workers.
  bool ready() const;

  /// Goes to the beginning of an epoch.
  void set_epoch(std::uint64_t epoch);
  std::uint64_t epoch() const;

  /// Batches of the current epoch on every rank; of a resumed one those that were left.
  std::uint64_t size() const;

  /// After the last batch that next() gave.
  LoaderState state() const;
  /// Goes to where `state` was taken. Throws `invalid_argument` where it is of another dataset, selection, shuffle or
  /// seed.
  void load_state(const LoaderState& state);

  const Dataset& dataset() const;
  const LoaderOptions& options() const;
  /// Every bad sample that came up in delivered batches, in their order.
  std::vector<BadSample> bad_samples() const;
  LoaderCounters counters() const;
  /// Process ids of the workers that are alive; empty for threads.
  std::vector<int> worker_pids() const;
  /// Where the pixels of all batches lie, for page-locking them once; lives as long as this Loader and its batches.
  /// Whole pages.
  MutableBytes pixel_memory() const;

 private:
  std::shared_ptr<loader_detail::Session> session_;
};

}  // namespace bale
