// CudaSession: the implementation of CudaLoader. Takes batches from a Loader, copies, converts and delivers them.
//
//   Loader -> (host slot) -> copy stream -> (device buffer) -> conversion in the consumer's stream -> DeviceBatch
//
// If the device decodes, that is done in the copy stream, too (DeviceDecoder): JPEGs are in the slot, images in the
// buffer.
//
// Batches are taken from the Loader and copied ahead of their delivery. A slot of the ring returns to the workers when
// its copy is done: every next() queries the event of the copy. The host never waits for device buffers
// (DeviceBufferPool).
//
// A CopyThread starts copies and returns slots between calls of next(). `mutex_` orders it and the caller's thread.
// Neither has it while it waits: the copy thread takes batches only if they are ready, and the caller releases it
// in the meantime, since `on_wait` may run a signal handler that asks for the counters, or never return when a Python
// process ends.
//
// State, epoch and bad samples are those of the last batch delivered.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/loader/cuda/buffers/copy_thread.hpp"
#include "bale/loader/cuda/buffers/device_buffer_pool.hpp"
#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/loader/cuda/decode/device_decoder.hpp"
#include "bale/loader/cuda/driver/context.hpp"
#include "bale/loader/cuda/kernels/converter.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"
#include "bale/loader/fields/field_copies.hpp"

namespace bale::cuda_detail {

// BatchTables: the layout, on host and device, of the block that is copied along with the pixels of a batch.
struct BatchTables {
  /// For `batch_size` rows, with the partners' labels and shares if `mixes_labels`, and what the device resizes if it
  /// `decodes`.
  BatchTables(std::uint32_t batch_size, bool mixes_labels, bool decodes) : mixes(mixes_labels) {
    // From the widest type to the narrowest, so that every table is aligned.
    const auto place = [&](std::size_t bytes_a_row) {
      const std::size_t at = size_bytes;
      size_bytes += bytes_a_row * batch_size;
      return at;
    };
    labels = place(sizeof(std::int64_t));
    if (mixes) partner_labels = place(sizeof(std::int64_t));
    if (decodes) resize = place(sizeof(ResizeRow));
    rows = place(sizeof(ConvertRow));
    if (mixes) shares = place(sizeof(float));
    mask = place(sizeof(std::uint8_t));
    size_bytes = round_up(size_bytes, sizeof(std::int64_t));  // the tables of the next batch follow
  }

  // Offsets in bytes.
  std::size_t labels = 0;          // int64
  std::size_t partner_labels = 0;  // int64
  std::size_t resize = 0;          // ResizeRow
  std::size_t rows = 0;            // ConvertRow
  std::size_t shares = 0;          // float
  std::size_t mask = 0;            // uint8
  std::size_t size_bytes = 0;
  bool mixes = false;
};

/// The objects on the device. Shared with the batches that were delivered.
struct DeviceSide {
  DeviceSide(std::shared_ptr<const Context> context, const Transform& delivered, std::uint32_t batch_size,
             const CudaOptions& options, std::unique_ptr<const Converter> converts, bool decodes);

  std::shared_ptr<const Context> context;
  Transform transform;  // of delivered batches
  BatchTables tables_layout;
  Stream copies;
  std::unique_ptr<const Converter> converter;  // nullptr if images are copied as they are delivered
  DeviceBufferPool images;                     // as they are copied
  DeviceBufferPool tables;
  std::unique_ptr<DeviceBufferPool> converted;
  std::atomic<std::uint32_t> num_held{0};
};

/// `cuda` itself. Throws Error(invalid_argument or unsupported) if it is out of range or contradicts `options`.
CudaOptions checked(const CudaOptions& cuda, const LoaderOptions& options);

/// A batch in buffers of the device.
struct BatchOnDevice {
  std::uint32_t images_buffer = 0;  // as it was copied; of `converted` when it is converted
  std::uint32_t tables_buffer = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::vector<std::uint64_t> samples{};
  std::vector<std::uint32_t> partners{};                       // empty without mixing
  std::shared_ptr<const loader_detail::FieldCopies> fields{};  // out of the slot, which returns before the delivery
};

/// A batch that the caller holds.
struct DeliveredBatch : BatchOnDevice {
  ~DeliveredBatch();
  /// Whether `users` names the default stream of a thread, and this is another thread, in which the name means another
  /// stream.
  bool is_used_by_another_thread() const;

  std::shared_ptr<DeviceSide> device;
  std::vector<StreamHandle> users{};                    // the consumer's stream first
  std::thread::id thread = std::this_thread::get_id();  // that called next()
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
  /// Any thread may call it.
  void request_stop();
  void set_epoch(std::uint64_t epoch);
  void load_state(const LoaderState& state);

  bool is_of_this_process() const { return process_.is_here(); }
  const LoaderState& state() const { return state_; }
  std::uint64_t size() const { return size_; }
  const Dataset& dataset() const { return loader_.dataset(); }
  const LoaderOptions& options() const { return options_; }
  const CudaOptions& cuda_options() const { return cuda_; }
  bool converts_on_device() const { return device_->converter != nullptr; }
  bool decodes_on_device() const;
  std::vector<BadSample> bad_samples() const;
  std::vector<int> worker_pids() const;
  CudaCounters counters() const;
  std::vector<std::string> fallbacks() const;

 private:
  /// A batch that was taken from the loader.
  struct Taken {
    Batch batch;
    LoaderState state;  // after it
    std::uint64_t num_bad_samples = 0;
  };
  /// A copy that was started. It reads the batch's slot and the block of `blocks_`.
  struct Copy {
    Batch batch;
    std::uint32_t block = 0;
    std::uint64_t bytes = 0;
    std::shared_ptr<const Event> begun;  // timing only
    std::shared_ptr<const Event> done;
  };
  /// What is delivered next, in order: a batch on the device, or the end of an epoch.
  struct Staged {
    LoaderState state;  // after it
    std::uint64_t num_bad_samples = 0;
    bool is_end = false;
    std::uint64_t next_size = 0;  // of an end: batches of the next epoch
    // Of a batch:
    BatchOnDevice batch{};
    std::uint64_t pixel_bytes = 0;  // that were copied
    std::uint64_t num_valid = 0;
    std::shared_ptr<const Event> copied{};
  };

  /// A wait of a consumer's stream for a copy; timing only.
  struct Stall {
    std::shared_ptr<const Event> begin;
    std::shared_ptr<const Event> end;
  };

  PageLock page_lock() const { return cuda_.page_lock ? PageLock::on : PageLock::off; }
  void stage(std::unique_lock<std::recursive_mutex>& lock, const std::function<void()>& on_wait);
  void take(std::optional<Batch> batch);
  bool can_stage() const;
  bool stage_ahead();
  CopyThread::Pause copy_ready();
  void start_copy_thread();
  void copy_taken();
  void describe_taken(Staged& staged) const;
  void decode_taken(std::uint32_t block);
  void copy(DevicePointer to, Bytes from) const;
  void copy_images(const Batch& batch, std::uint32_t block, Staged& staged) const;
  std::shared_ptr<const Event> enqueue_copies(std::uint32_t block, Staged& staged);
  Bytes converted_here(const Batch& batch, std::uint32_t block) const;
  void fill_tables(const Batch& batch, std::byte* tables, std::vector<std::uint32_t>& partners) const;
  std::unique_ptr<DeliveredBatch> deliver(const Staged& staged, StreamHandle stream);
  std::uint32_t convert(const Staged& staged, StreamHandle stream);
  void release_copied();
  void wait_for(const Event& event, const std::function<void()>& on_wait);
  void drop_staged() noexcept;

  // Held by every function that uses what follows, but for state_ and size_, which only the caller's thread uses.
  mutable std::recursive_mutex mutex_;  // tests ask for workers inside of calls of the driver
  bool caller_stages_ = false;          // the caller's thread uses loader_, perhaps without the mutex
  LoaderOptions options_;
  CudaOptions cuda_;
  std::shared_ptr<const Context> context_;
  PixelKernels kernels_;                    // the device's are moved to `device_`
  std::string decoding_refusal_;            // why the device does not decode, if it should
  std::unique_ptr<DeviceDecoder> decoder_;  // nullptr: workers decode
  Loader loader_;
  std::shared_ptr<DeviceSide> device_;
  HostMemory blocks_;                                 // one BatchTables per slot of the ring
  std::unique_ptr<const HostMemory> host_converted_;  // as many batches, if the kernels run in this process
  std::unique_ptr<const LockedRange> locked_ring_;
  std::vector<std::uint32_t> free_blocks_;
  std::optional<Taken> taken_;  // its copy is not started yet
  std::deque<Copy> copies_;     // oldest first
  std::deque<Staged> staged_;
  std::deque<Stall> stalls_;
  LoaderState state_;
  std::uint64_t size_;          // of the epoch being delivered
  std::uint64_t left_to_take_;  // batches left in the loader's epoch
  std::uint64_t num_bad_samples_ = 0;
  CudaCounters counters_{};
  std::atomic<bool> stop_requested_{false};  // not the loader's, whose next() the copy thread calls, too
  const OwnProcess process_;
  std::string thread_refusal_;               // why there is no thread; empty if there is one, or none is needed
  std::unique_ptr<CopyThread> copy_thread_;  // the last member: it ends before what it uses
};

}  // namespace bale::cuda_detail
