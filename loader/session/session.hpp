// Session: what a Loader and its batches share: the ring, the workers, and the list of free slots.
//
// mutex_ guards the owner's side of the ring. It is taken by the thread that calls the Loader, by any thread that
// destroys a Batch, and by the process pool's thread after a worker died; never while waiting and never by workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/loader/batch.hpp"
#include "bale/loader/batch/batch_mixer.hpp"
#include "bale/loader/batch/batch_view.hpp"
#include "bale/loader/fields/field_columns.hpp"
#include "bale/loader/fields/row_layout.hpp"
#include "bale/loader/loader.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/fork_copy.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/session/batch_stream.hpp"
#include "bale/loader/session/row_writer.hpp"
#include "bale/loader/worker/process/process_pool.hpp"
#include "bale/loader/worker/workers.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/read_ahead.hpp"
#include "bale/reader/spec/dataset_identity.hpp"

namespace bale::loader_detail {

// What a session needs to deliver batches before all shards are counted.
//
// A dataset without index and manifest says how many samples it has when all its shards were scanned. In stored order
// the first samples are known before that. So the session follows the order of a dataset without an end, opens a batch
// when all its samples are counted, and takes the right order when all shards are: up to there both are the same.

/// Samples of a dataset that is not counted.
inline constexpr std::uint64_t k_uncounted = std::uint64_t{1} << 60;

/// Whether these options need no number of samples before the first batch.
bool can_count_later(const LoaderOptions& options);

/// Identifies dataset and order by the names of the shards.
std::uint64_t fingerprint_of_names(const Dataset& dataset, const LoaderOptions& options);

/// Whether the sample in the n-th row of a stream of an uncounted dataset is known. Counts what can be counted without
/// waiting. Never throws; the readers will hit the same error.
bool is_ready(const Dataset& dataset, const BatchStream& stream, std::uint64_t n);

/// The bad samples of a Session: those it reported, those in quarantine, and the number of substitutes that
/// it tried. Not thread-safe: the Session's lock guards it.
class FaultRecord {
 public:
  /// A sample at which workers died is not given to a worker again.
  void quarantine(std::uint64_t sample) { quarantined_.insert(sample); }
  bool is_quarantined(std::uint64_t sample) const { return quarantined_.contains(sample); }

  /// A sample is listed once, with the epoch in which it was met first. Returns whether it is new.
  bool report(BadSample bad) {
    if (!listed_.insert(bad.sample).second) return false;
    bad_samples_.push_back(std::move(bad));
    return true;
  }
  /// Whether this batch did not fail the last time: next() may be called again.
  bool is_first_failure(std::uint64_t batch) { return std::exchange(failed_batch_, batch) != batch; }
  const std::vector<BadSample>& bad_samples() const { return bad_samples_; }

  /// Counts one more substitute for a row of a batch. Returns 1 for the first.
  std::uint32_t next_attempt(std::uint64_t batch, std::uint32_t row) { return ++attempts_[{batch, row}]; }
  void forget_attempts(std::uint64_t batch) {
    attempts_.erase(attempts_.lower_bound({batch, 0}), attempts_.lower_bound({batch + 1, 0}));
  }
  void forget_attempts() { attempts_.clear(); }

 private:
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> attempts_;  // by (batch, row)
  std::set<std::uint64_t> quarantined_;
  std::vector<BadSample> bad_samples_;
  std::set<std::uint64_t> listed_;  // samples of bad_samples_
  std::optional<std::uint64_t> failed_batch_;
};

/// Throws `interrupted` if a stop was requested, which is then forgotten.
void throw_if_stopped(std::atomic<bool>& requested);

class Session;

/// A batch in a slot of the ring. The slot returns to the workers when the Lease ends.
class Lease final : public BatchView {
 public:
  /// Precondition: the fields of the batch are gathered.
  Lease(std::shared_ptr<Session> session, std::uint32_t slot);
  ~Lease() override;

  std::uint32_t slot() const { return slot_; }

 private:
  std::shared_ptr<Session> session_;
  std::uint32_t slot_;
  ForkCopy head_copy_, pixels_copy_, fields_copy_;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(const std::string& spec, LoaderOptions options, std::optional<Selection> selection);
  ~Session();

  void start();
  std::optional<Batch> next(const std::function<void()>& on_wait);
  /// Any thread may call it.
  void request_stop() {
    stop_requested_.store(true);
    ring_.announce_completion();
  }
  bool ready() const;
  void set_epoch(std::uint64_t epoch);
  /// Ends the Loader's use: stops the workers. The memory stays for batches that are still held.
  void end();
  /// False in a child of fork(), which has none of the threads: it leaves the object as it is.
  bool is_of_this_process() const { return process_.is_here(); }

  std::uint64_t epoch() const { return epoch_; }
  /// Counts all samples, if that was not done.
  std::uint64_t num_batches();
  /// False while shards are counted as they are read: see session_counting.cpp.
  bool is_counted() const;
  LoaderState state() const;
  void load_state(const LoaderState& state);

  const Dataset& dataset() const { return dataset_; }
  const LoaderOptions& options() const { return options_; }
  const ViewLayout& view_places() const { return layout_.views(); }
  std::vector<BadSample> bad_samples() const;
  LoaderCounters counters() const;
  std::vector<int> worker_pids() const;

  // For a thread that waits for workers while another uses the Loader. Any thread may call these.
  std::uint32_t completions() const { return ring_.completions(); }
  /// Sleeps while completions() is `seen` and wake_waiters() is not called, for at most `timeout_ms`.
  void wait_for_completion(std::uint32_t seen, int timeout_ms) const { ring_.wait_for_completion(seen, timeout_ms); }
  void wake_waiters() { ring_.announce_completion(); }

  // For batches.
  const Ring& ring() const { return ring_; }
  Ring& ring() { return ring_; }
  const BatchMixer& mixer() const { return mixer_; }
  const FieldColumns& fields() const { return fields_; }
  void release(std::uint32_t slot) noexcept;

  // For a loader that makes images itself of what the workers left in the rows of a batch.
  static std::uint32_t slot_of(const Batch& batch) { return static_cast<const Lease&>(*batch.view_).slot(); }
  /// Applies on_bad_sample to a row of a delivered batch, whose image cannot be decoded. Throws under `fail`, and under
  /// `substitute`, as the batch has left the workers.
  void settle_undecodable(const Batch& batch, std::uint32_t row, const Error& why);

 private:
  Ring make_ring();
  bool is_other_fingerprint(std::uint64_t fingerprint) const;
  std::uint64_t shards_before(std::uint64_t epoch, std::uint64_t position) const;
  std::uint64_t content_of(std::size_t num_shards) const;
  std::unique_ptr<Workers> make_workers();
  void start_read_ahead();
  std::function<bool(std::uint64_t, std::uint64_t)> needed_on_node() const;
  void update_read_ahead();
  void stop_workers();
  void open_batches();
  void open_batch(const OpenBatch& batch);
  std::optional<std::uint64_t> samples_for(const BatchPlace& place) const;
  bool may_open(const BatchPlace& place) const;
  void throw_if_in_next(const char* what) const;
  void go_to(std::uint64_t epoch, std::uint64_t position);
  std::optional<Batch> next_batch(const std::function<void()>& on_wait);
  void report(BadSample bad);
  void note(LoaderEvent event);
  void note_retries();
  void deliver_events();
  void count_until_next(std::unique_lock<std::mutex>& lock);
  void use_counts();
  void use_clock();
  void close_open_batches(std::unique_lock<std::mutex>& lock);
  void wait_until_complete(std::unique_lock<std::mutex>& lock, const OpenBatch& batch,
                           const std::function<void()>& on_wait);
  void throw_storage_hangs(const OpenBatch& batch) const;
  bool copies_next() const;
  Batch copy_of(Batch leased);
  bool has_failed_rows(const OpenBatch& batch) const;
  void throw_failure(const OpenBatch& batch);
  bool settle_failed_rows(const OpenBatch& batch);
  Pick substitute_of(const Row& row, std::uint64_t epoch, KeyedRandom& random) const;
  void read_large_fields(std::unique_lock<std::mutex>& lock, const OpenBatch& batch);
  Error error_of_row(const Row& row) const;
  std::string key_of(const Row& row) const;
  BadSample describe(const OpenBatch& batch, std::uint32_t row, BadSample::Action action) const;
  void on_worker_end(const WorkerEnd& end);
  void recover_row(const OpenBatch& batch, std::uint32_t row, const WorkerEnd& end);

  const std::string spec_;
  LoaderOptions options_;
  std::shared_ptr<IndexMemory> index_memory_;  // for worker processes; null if there are none
  Dataset dataset_;
  bool is_counted_;               // else stream_ is that of a dataset without an end
  bool has_clock_ = is_counted_;  // whether reading ahead says when content is used next
  RowLayout layout_;
  FieldColumns fields_;
  BatchStream stream_;
  const std::uint64_t identity_;  // of the dataset; 0: it was not known when it was opened
  std::uint64_t fingerprint_;
  mutable DatasetIdentity content_;                // of as many shards as contents_ has
  mutable std::vector<std::uint64_t> contents_{};  // [n]: LoaderState::content of the first n + 1 shards
  WorkerConfig config_;
  ShardOf shard_of_;
  Ring ring_;
  RowWriter rows_;
  BatchMixer mixer_;

  mutable std::mutex mutex_;
  BatchSlots slots_;
  std::uint64_t next_to_open_ = 0;  // batch number in the stream
  std::uint64_t epoch_ = 0;         // being delivered
  std::uint64_t delivered_ = 0;     // batches of epoch_
  bool closing_ = false;            // rows that become free are dropped, not offered again
  bool ended_ = false;
  struct Move {
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
  };
  /// A move that was begun: rows of open batches may be dropped, so next() completes it before it delivers.
  std::optional<Move> unfinished_move_{};
  std::exception_ptr failure_;  // from opening a batch in release()
  FaultRecord faults_;
  std::vector<LoaderEvent> events_;   // that on_event was not called for; empty without one
  std::vector<LoaderEvent> retries_;  // the same of requests, which only the thread that calls next() uses
  std::atomic<bool> has_events_{false};
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> is_in_next_{false};  // functions that next() calls must not take its batch away
  LoaderCounters counters_{};
  std::uint64_t replaced_by_earlier_pools_ = 0;

  std::unique_ptr<ReadAhead> read_ahead_;
  std::unique_ptr<WorkerProgram> program_;  // set by the first start()
  std::unique_ptr<Workers> workers_;        // null if none are started
  const OwnProcess process_;
};

}  // namespace bale::loader_detail
