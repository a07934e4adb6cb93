// Ring: slots of one batch each in shared memory, filled row by row by workers, read by one consumer.
//
// The ring knows rows and which worker has them, but no orders, datasets or pixels; what was drawn for a row is carried
// along. Everything in it is plain data and lock-free atomics, so a worker may die at any instruction and leaves nothing
// locked.
//
// A row goes   free -> claimed by worker w -> done | failed,   and back to free when w died.
// Every word that workers change carries the number of the batch it belongs to, so a worker that was slow
// cannot touch a later batch in the same slot.
//
// Roles: the owner (one process, under a lock of its own) opens, closes, recovers and recycles; workers claim and
// finish.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/ring/shared_memory.hpp"
#include "bale/loader/transform/augment_draw.hpp"

namespace bale::loader_detail {

inline constexpr std::uint32_t k_max_workers = 1024;
inline constexpr std::uint32_t k_max_rows = 1U << 19;  // of a batch
inline constexpr std::size_t k_error_bytes = 384;

/// What the owner asks for and what the worker answers, for one row.
struct Row {
  // A batch number and a RowPhase in one word; see phase().
  std::atomic<std::uint64_t> state;
  // Asked.
  std::uint64_t sample_in_shard;
  std::uint64_t sample;  // in the dataset; the draw's key
  std::uint64_t copy;
  std::uint64_t offset;    // of the row's place in the slot's pixels
  std::uint64_t capacity;  // bytes of that place
  std::uint32_t shard;
  std::uint32_t kills;          // workers that died at this row by a fault of their own
  std::uint32_t interruptions;  // workers that were killed from outside at this row
  // Answered.
  std::uint32_t source_width;
  std::uint32_t source_height;
  std::uint64_t bytes;
  AugmentDraw draw;
  char error[k_error_bytes];  // NUL-terminated
};

enum class RowPhase : std::uint32_t {
  free = 0,
  done = 1,
  failed = 2,
  dropped = 3,   // closed before anyone claimed it
  claimed = 16,  // + number of the worker
};

struct Slot {
  // Batch number (44 bits) and the next row to claim (20 bits).
  std::atomic<std::uint64_t> claim;
  std::atomic<std::uint32_t> left;  // rows not finished; a hint, exact as long as no worker died
  std::atomic<std::uint32_t> num_rows;
  std::uint64_t epoch;
  std::uint64_t index;  // of the batch in its epoch
};

/// Cuts `text` to what a row has room for.
void set_error(Row& row, std::string_view text);

/// What the supervisor and workers tell each other.
struct WorkerEntry {
  // CLOCK_MONOTONIC when it began with what it does now: to claim rows, to read, to decode; 0 while idle.
  std::atomic<std::uint64_t> busy_since_ns;
  std::atomic<std::uint32_t> reading;  // 1 while it waits for a sample's bytes
  std::atomic<std::uint64_t> seen_ns;  // when it last looked for work; 0 until it first does
  std::atomic<std::uint64_t> rows_done;
  char error[k_error_bytes];  // why it gave up, NUL-terminated
};

struct RingShape {
  std::uint32_t num_slots = 0;
  std::uint32_t batch_size = 0;
  std::uint64_t pixel_bytes = 0;  // of one slot
  std::uint64_t config_bytes = 0;
  std::uint64_t kept_bytes = 0;  // what workers keep for each other; see Ring::kept()
};

/// A claimed row.
struct Claim {
  std::uint64_t batch = 0;
  std::uint32_t slot = 0;
  std::uint32_t row = 0;
};

class Ring {
 public:
  /// Throws `io` where there is no memory, `invalid_argument` for a shape beyond the limits above.
  static Ring create(const RingShape& shape, SharedMemory::With with = SharedMemory::With::programs);
  /// In a worker. Throws `damaged` where the memory is not a ring of this version of bale.
  static Ring attach(SharedMemory memory);

  Ring(Ring&&) noexcept = default;
  Ring& operator=(Ring&&) noexcept = default;

  int fd() const { return memory_.fd(); }
  const RingShape& shape() const;
  /// Room for what workers must know; written by the owner before they start.
  MutableBytes config() const;

  /// Zero at first, and nothing to the ring.
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
  /// All slots' pixels, for registering them with a device in one call.
  MutableBytes all_pixels() const;

  // --- owner

  /// Sets a row up for `batch`: free, or finished at once (nothing to do). Before publish().
  void prepare_row(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, RowPhase phase);
  /// Lets workers at the slot's rows. Batches are numbered 0, 1, 2, ... and published in that order.
  void publish(std::uint32_t slot, std::uint64_t batch, std::uint32_t num_rows);
  /// Offers rows of a published batch again that are free.
  void reoffer(std::uint32_t slot, std::uint64_t batch);
  /// Rows of a published batch that workers have come to.
  std::uint32_t num_claimed(std::uint32_t slot) const;
  /// Workers need not look at batches below this one any more.
  void set_oldest(std::uint64_t batch);
  /// All rows finished: every one done, failed or dropped.
  bool complete(std::uint32_t slot, std::uint64_t batch) const;
  /// No new claims in this batch: its free rows are dropped.
  void close(std::uint32_t slot, std::uint64_t batch);
  /// Sleeps until a batch may have become complete, `timeout_ms` at most, unless that happened since `seen`.
  std::uint32_t completions() const;
  void wait_for_completion(std::uint32_t seen, int timeout_ms) const;
  void announce_completion();
  /// Ends all workers at their next row; they may be started again after resume().
  void stop();
  void resume();

  // --- workers

  /// The first free row of the oldest batch that has one.
  std::optional<Claim> claim(std::uint32_t worker);
  /// `error` empty: done.
  void finish(const Claim& claim, std::string_view error);
  bool stopped() const;
  /// Sleeps until a batch is published or reoffered, `timeout_ms` at most, unless that happened since `seen`.
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

  SharedMemory memory_;
  Slot* slots_ = nullptr;
  Row* rows_ = nullptr;
  WorkerEntry* workers_ = nullptr;
};

}  // namespace bale::loader_detail
