// Ring: slots in shared memory, one batch each. Workers fill them row by row; one consumer reads them.
//
// The ring knows rows and the workers that claimed them, but not orders, datasets or pixels. It stores a row's DrawKey,
// iou_crop, EncodedImage and ShardIdentity without using them. It has only plain data and lock-free atomics, so a
// worker may die at any instruction and leaves no lock behind.
//
// A row goes   free -> claimed by worker w -> done | failed,   and back to free if w dies.
// The words by which workers claim rows contain the batch number, so a slow worker cannot claim a row of a later batch
// in the same slot.
//
// Roles: the owner (one process, under its own lock) opens, closes, recovers and reuses slots. Workers claim and finish
// rows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/loader/ring/shared_memory.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/encoded_image.hpp"

namespace bale::loader_detail {

inline constexpr std::uint32_t k_max_workers = 1024;
inline constexpr std::uint32_t k_max_rows = 1U << 19;  // per batch
inline constexpr std::size_t k_error_bytes = 1024;
inline constexpr std::size_t k_line_bytes = 64;  // of a cache line

/// What a batch shows of a row.
struct RowResult {
  std::uint64_t offset = 0;  // of the row's image in the slot's pixels
  std::uint64_t bytes = 0;   // 0: the row is empty
  DrawKey key{};             // of its first view
  std::uint32_t source = 0;  // of a mixture
  std::uint32_t source_width = 0;
  std::uint32_t source_height = 0;
  Region iou_crop{};  // of the first view: AppliedTransform::iou_crop
};

/// One row: the owner's request and the worker's result.
struct Row : RowResult {
  // A batch number and a RowPhase in one word; see row_state().
  std::atomic<std::uint64_t> state;
  // The request.
  std::uint64_t sample_in_shard;
  std::uint64_t sample;    // in the dataset
  std::uint64_t capacity;  // of the row, in bytes
  ShardIdentity identity;  // of the shard, as the owner holds it
  std::uint32_t shard;
  std::uint32_t kills;          // workers that crashed, failed or stalled at this row
  std::uint32_t interruptions;  // workers that were killed from outside at this row
  // The result.
  EncodedImage encoded;  // bytes 0 unless a device decodes it
  // The error of a failed row; see set_error().
  ErrorCode code;
  bool is_failure;  // of the run; else the sample is bad
  bool names_key;   // the sample's
  bool names_offset;
  std::int32_t system_error;
  std::uint64_t error_offset;
  char error[k_error_bytes];  // message, path and hint, each NUL-terminated
};

enum class RowPhase : std::uint32_t {
  free = 0,
  done = 1,
  failed = 2,
  dropped = 3,   // closed before a worker claimed it
  claimed = 16,  // + the worker's number
};

/// All workers write `claim` and `left`, once per sample each. Each has a cache line of its own.
struct alignas(k_line_bytes) Slot {
  // Batch number (44 bits) and the next row to claim (20 bits).
  std::atomic<std::uint64_t> claim;
  // Rows not finished; a hint: exact only while no worker has died.
  alignas(k_line_bytes) std::atomic<std::uint32_t> left;
  std::atomic<std::uint32_t> num_rows;
  std::uint64_t epoch;
  std::uint64_t index;  // of the batch in its epoch
};

enum class FaultOf : std::uint8_t { sample, run };

/// Sets the row's error, whose parts are truncated to fit. It is that of a bad sample, or of the run and no sample's
/// fault.
void set_error(Row& row, const Error& error, FaultOf fault);
/// The same for a lack of memory at the shard `path`. Allocates nothing.
void set_out_of_memory(Row& row, std::string_view path) noexcept;
/// The error of a failed row, whose sample has this key in this shard.
Error error_of(const Row& row, const std::string& key, const std::string& shard_path);

/// The clock of workers and their supervisor. It is the same in all processes of a machine.
inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// The state of one worker, shared with its supervisor.
struct WorkerEntry {
  // CLOCK_MONOTONIC at the start of its current step (claim, read or decode); 0 while idle.
  std::atomic<std::uint64_t> busy_since_ns;
  std::atomic<std::uint32_t> reading;  // 1 while it waits for a sample's bytes
  std::atomic<std::uint64_t> seen_ns;  // when it last looked for work; 0 if never
  std::atomic<std::uint64_t> rows_done;
  char error[k_error_bytes];  // why it exited, NUL-terminated
  // A request that failed and is made again, see tell_retry(). The worker writes while `retried` is 0, the owner reads
  // while it is 1.
  std::atomic<std::uint32_t> retried;
  char retry[k_error_bytes];
};

struct RingShape {
  std::uint32_t num_slots = 0;
  std::uint32_t batch_size = 0;
  std::uint64_t pixel_bytes = 0;  // of one slot
  std::uint64_t field_bytes = 0;  // of one slot; see FieldSlots
  std::uint64_t config_bytes = 0;
  std::uint64_t kept_bytes = 0;  // shared by the workers; see Ring::kept()
};

/// A claimed row.
struct Claim {
  std::uint64_t batch = 0;
  std::uint32_t slot = 0;
  std::uint32_t row = 0;
};

class Ring {
 public:
  /// Throws `io` if there is not enough memory, `invalid_argument` if the shape exceeds the limits above.
  static Ring create(const RingShape& shape, SharedMemory::With with = SharedMemory::With::programs);
  /// For workers. Throws `damaged` if the memory is not a ring of this version of bale.
  static Ring attach(SharedMemory memory);

  Ring(Ring&&) noexcept = default;
  Ring& operator=(Ring&&) noexcept = default;

  int fd() const { return memory_.fd(); }
  const RingShape& shape() const;
  /// The configuration of the workers. The owner writes it before they start.
  MutableBytes config() const;

  /// Memory that the workers share. Zero at first; the ring itself does not use it.
  MutableBytes kept() const;

  Slot& slot(std::uint32_t slot) { return slots_[slot]; }
  const Slot& slot(std::uint32_t slot) const { return slots_[slot]; }
  Row& row(std::uint32_t slot, std::uint32_t row) { return rows_[std::size_t{slot} * shape().batch_size + row]; }
  const Row& row(std::uint32_t slot, std::uint32_t row) const {
    return rows_[std::size_t{slot} * shape().batch_size + row];
  }
  WorkerEntry& worker(std::uint32_t number) { return workers_[number]; }
  const WorkerEntry& worker(std::uint32_t number) const { return workers_[number]; }
  std::span<std::uint64_t> samples(std::uint32_t slot) const;
  std::span<std::int64_t> labels(std::uint32_t slot) const;
  std::span<std::uint8_t> mask(std::uint32_t slot) const;
  MutableBytes pixels(std::uint32_t slot) const;
  /// The memory for fields, which FieldSlots divides.
  MutableBytes fields(std::uint32_t slot) const;
  /// All that is not pixels, fields or kept(): rows, labels and samples of all slots.
  MutableBytes head() const;
  /// The pixels of all slots, to be registered with a device in one call.
  MutableBytes all_pixels() const;

  // --- owner

  /// Prepares a row for `batch`: free, or already finished. To be called before publish().
  void prepare_row(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, RowPhase phase);
  /// Offers the slot's rows to workers. Batches are numbered 0, 1, 2, ... and published in that order.
  void publish(std::uint32_t slot, std::uint64_t batch, std::uint32_t num_rows);
  /// Offers the free rows of a published batch again.
  void reoffer(std::uint32_t slot, std::uint64_t batch);
  /// Number of rows of a published batch that workers have reached.
  std::uint32_t num_claimed(std::uint32_t slot) const;
  /// From now on, workers ignore batches before `batch`.
  void set_oldest(std::uint64_t batch);
  /// Whether every row is done, failed or dropped.
  bool complete(std::uint32_t slot, std::uint64_t batch) const;
  /// Drops the free rows of a batch, so that workers claim no more of them.
  void close(std::uint32_t slot, std::uint64_t batch);
  /// Waits for a batch that may be complete: sleeps while completions() is `seen`, for at most `timeout_ms`.
  std::uint32_t completions() const;
  void wait_for_completion(std::uint32_t seen, int timeout_ms) const;
  void announce_completion();
  /// What a worker told by tell_retry(); empty if nothing. Then it may tell the next one.
  std::string take_retry(std::uint32_t worker);
  /// From now on, workers decode all images: none are left to a device.
  void ask_for_pixels();
  /// Ends all workers after their current rows. They may be started again after resume().
  void stop();
  void resume();

  // --- workers

  /// The first free row of the oldest batch that has one.
  std::optional<Claim> claim(std::uint32_t worker);
  /// Sets a claimed row to done.
  void finish(const Claim& claim);
  /// Sets a claimed row to failed.
  void fail(const Claim& claim, const Error& error, FaultOf fault);
  /// The same, as set_out_of_memory().
  void fail_out_of_memory(const Claim& claim, std::string_view path) noexcept;
  /// Tells the owner of a request to the storage that failed and is made again; not if an earlier one was not taken.
  void tell_retry(std::uint32_t worker, const Error& error) noexcept;
  bool stopped() const;
  bool asks_for_pixels() const;
  /// Waits for a batch that is published or reoffered: sleeps while publications() is `seen`, for at most `timeout_ms`.
  std::uint32_t publications() const;
  void wait_for_work(std::uint32_t seen, int timeout_ms) const;

  static std::uint64_t row_state(std::uint64_t batch, std::uint32_t phase) { return batch << 20 | phase; }
  static std::uint64_t batch_of(std::uint64_t state) { return state >> 20; }
  static std::uint32_t phase_of(std::uint64_t state) { return static_cast<std::uint32_t>(state & 0xFFFFF); }

 private:
  struct Layout;
  struct Header;
  explicit Ring(SharedMemory memory);
  static Layout lay_out(const RingShape& shape);
  Header& header() const;
  const Layout& layout() const;
  std::atomic<std::uint32_t>& slot_of_batch(std::uint64_t batch) const;
  void end_row(const Claim& claim, RowPhase phase);

  SharedMemory memory_;
  Slot* slots_ = nullptr;
  Row* rows_ = nullptr;
  WorkerEntry* workers_ = nullptr;
};

}  // namespace bale::loader_detail
