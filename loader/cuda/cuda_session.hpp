// CudaSession: what a CudaLoader does. Takes batches from a Loader, has them copied, converts and delivers them.
//
//   Loader -> (host slot) -> copy stream -> (device buffer) -> conversion in the consumer's stream -> DeviceBatch
//
// A batch is taken from the Loader early, copied early, and delivered when it is its turn. Its slot in the ring goes
// back to the workers when the copy is done, which the host sees by asking the copy's event, in every next(). Device
// buffers are never waited for by the host (DeviceBufferPool).
//
// What is seen from outside (state, epoch, bad samples) is that of the last batch delivered.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bale/loader/cuda/batch_tables.hpp"
#include "bale/loader/cuda/context.hpp"
#include "bale/loader/cuda/converter.hpp"
#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/loader/cuda/device_buffer_pool.hpp"

namespace bale::cuda_detail {

/// What lies on the device; shared with the batches that were delivered.
struct DeviceSide {
  DeviceSide(std::shared_ptr<const Context> context, const Transform& delivered, std::uint32_t batch_size,
             const CudaOptions& options, bool converts);

  std::shared_ptr<const Context> context;
  Transform transform;  // of what is delivered
  BatchTables tables_layout;
  Stream copies;
  std::unique_ptr<const Converter> converter;  // none where the workers make what is delivered
  DeviceBufferPool images;                     // as the workers made them
  DeviceBufferPool tables;
  std::unique_ptr<DeviceBufferPool> converted;
  std::atomic<std::uint32_t> num_held{0};
};

/// A batch in the caller's hands.
struct DeliveredBatch {
  ~DeliveredBatch();

  std::shared_ptr<DeviceSide> device;
  std::uint32_t images_buffer = 0;  // of `converted` where there is a converter
  std::uint32_t tables_buffer = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::vector<std::uint64_t> samples{};
  std::vector<StreamHandle> users{};  // the consumer's stream first
  bool is_beyond_hold = false;
};

class CudaSession {
 public:
  CudaSession(const std::string& spec, LoaderOptions options, CudaOptions cuda, std::optional<Selection> selection);
  ~CudaSession();
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;

  void start();
  std::optional<DeviceBatch> next(StreamHandle stream, const std::function<void()>& on_wait);
  void set_epoch(std::uint64_t epoch);
  void load_state(const LoaderState& state);

  const LoaderState& state() const { return state_; }
  std::uint64_t size() const { return size_; }
  const Loader& loader() const { return loader_; }
  const LoaderOptions& options() const { return options_; }
  const CudaOptions& cuda_options() const { return cuda_; }
  bool converts_on_device() const { return device_->converter != nullptr; }
  std::vector<BadSample> bad_samples() const;
  CudaCounters counters() const;

 private:
  /// A batch that was taken from the loader.
  struct Taken {
    Batch batch;
    LoaderState state;  // after it
    std::uint64_t num_bad_samples = 0;
  };
  /// A copy that was asked for: the batch's slot, and the block of `blocks_`, are being read.
  struct Copy {
    Batch batch;
    std::uint32_t block = 0;
    std::shared_ptr<const Event> begun;  // timing only
    std::shared_ptr<const Event> done;
  };
  /// What is to be delivered next, in order: a batch on the device, or an epoch's end.
  struct Staged {
    LoaderState state;  // after it
    std::uint64_t num_bad_samples = 0;
    bool is_end = false;
    std::uint64_t next_size = 0;  // end: batches of the epoch that begins
    // A batch:
    std::uint32_t images_buffer = 0;
    std::uint32_t tables_buffer = 0;
    std::uint64_t index = 0;
    std::uint64_t epoch = 0;
    std::uint64_t num_valid = 0;
    std::vector<std::uint64_t> samples{};
    std::shared_ptr<const Event> copied{};
  };

  /// From when to when a consumer's stream waited for a copy; timing only.
  struct Stall {
    std::shared_ptr<const Event> begin;
    std::shared_ptr<const Event> end;
  };

  void stage(const std::function<void()>& on_wait);
  void stage_ahead();
  void copy_taken();
  std::shared_ptr<const Event> enqueue_copies(std::uint32_t block, Staged& staged);
  void fill_tables(const Batch& batch, std::byte* tables) const;
  std::unique_ptr<DeliveredBatch> deliver(const Staged& staged, StreamHandle stream);
  std::uint32_t convert(const Staged& staged, StreamHandle stream);
  void let_go_of_copied();
  void wait_for(const Event& event, const std::function<void()>& on_wait);
  void drop_staged() noexcept;

  LoaderOptions options_;
  CudaOptions cuda_;
  std::shared_ptr<const Context> context_;
  Loader loader_;
  std::shared_ptr<DeviceSide> device_;
  PinnedMemory blocks_;  // one BatchTables a slot of the ring
  std::unique_ptr<const PinnedRange> pinned_ring_;
  std::vector<std::uint32_t> free_blocks_;
  std::optional<Taken> taken_;  // whose copy could not be asked for yet
  std::deque<Copy> copies_;     // oldest first
  std::deque<Staged> staged_;
  std::deque<Stall> stalls_;
  LoaderState state_;
  std::uint64_t size_;          // of the epoch being delivered
  std::uint64_t left_to_take_;  // batches of the loader's epoch
  std::uint64_t num_bad_samples_ = 0;
  CudaCounters counters_{};
};

}  // namespace bale::cuda_detail
