// CudaLoader: Loader whose batches are on a CUDA device when they are asked for.
//
//   bale::CudaLoader loader{"packs/train", {.batch_size = 256, .seed = 1, .transform = transform}, {.device = 0}};
//   while (auto batch = loader.next(stream)) step<<<..., stream>>>(batch->images(), batch->labels());
//
// Copies of the batches to come run beside the work that is under way. Batches are Loader's, bit for bit: the transform
// says what is delivered, and where it is one of the float types, the device converts what the workers made in 8 bits.
//
// The driver (libcuda.so.1) is looked for at run time; nothing of CUDA is needed to build or to start a program.
// Threads: one thread at a time calls a CudaLoader. Processes: as for Loader; after fork only the parent may use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/loader/cuda/device_batch.hpp"
#include "bale/loader/cuda/mix.hpp"
#include "bale/loader/loader.hpp"

namespace bale {

namespace cuda_detail {
class CudaSession;
}

struct CudaOptions {
  int device = 0;               // as CUDA counts them, among those of CUDA_VISIBLE_DEVICES
  std::uint32_t depth = 2;      // batches that are copied ahead of the one that next() gives
  std::uint32_t hold = 3;       // batches in the caller's hands that there is memory for from the beginning; when
                                // the caller holds more, the loader takes device memory for each of them
  bool convert = true;          // on the device; false, and where the build has no kernels: by the workers, in the ring
  double flip_probability = 0;  // mirrors images on the device, for transforms that do not themselves
  MixOptions mix{};             // needs a float type
  bool timing = false;          // counts what is marked so below
};

struct CudaCounters {
  std::uint64_t batches = 0;        // delivered
  std::uint64_t samples = 0;        // delivered rows with mask 1
  std::uint64_t copied_bytes = 0;   // to the device
  double workers_wait_seconds = 0;  // spent in next() waiting for workers
  double device_wait_seconds = 0;   // spent in next() waiting for the device, which is behind
  double copy_seconds = 0;          // timing: what the copies took on the device
  double stall_seconds = 0;         // timing: how long streams waited for a copy; the rest of it was hidden
  std::uint64_t workers_replaced = 0;
  std::uint64_t batches_beyond_hold = 0;  // delivered while the caller held `hold` batches or more
};

/// Whether there is a CUDA device and a driver for it.
bool cuda_is_available();
/// Whether this build has the kernels that convert, mirror and mix.
bool cuda_kernels_are_available();

class CudaLoader {
 public:
  /// Opens dataset and device, and takes the device's memory for `depth + hold` batches. Throws what Loader throws;
  /// `not_found` where there is no driver or no such device; `io` where the device has not enough memory;
  /// `unsupported` for images that differ in size (ragged, raw), and for flip and mix without kernels.
  CudaLoader(const std::string& spec, LoaderOptions options, CudaOptions cuda = {});
  CudaLoader(const std::string& spec, LoaderOptions options, CudaOptions cuda, Selection selection);
  /// Waits for copies under way. Batches that are still held stay what they are.
  ~CudaLoader();
  CudaLoader(CudaLoader&&) noexcept;
  CudaLoader& operator=(CudaLoader&&) noexcept;

  /// Starts the workers, and page-locks the ring, ahead of the first next().
  void start();

  /// The next batch, for `stream`; nullopt once at the end of each epoch. Waits for workers, and for the device only
  /// where it is a whole ring behind. Throws what Loader::next throws, and the driver's errors (`io`), among them that
  /// the device has no memory for a batch beyond `hold`; the next call goes on with the same batch.
  std::optional<DeviceBatch> next(CudaStream stream = nullptr);
  /// The same; `on_wait` as in Loader::next.
  std::optional<DeviceBatch> next(CudaStream stream, const std::function<void()>& on_wait);

  // As in Loader; all of it is about the last batch that next() gave, whatever is copied ahead.
  void set_epoch(std::uint64_t epoch);
  std::uint64_t epoch() const;
  std::uint64_t size() const;
  LoaderState state() const;
  void load_state(const LoaderState& state);
  const Dataset& dataset() const;
  /// With the transform of what is delivered.
  const LoaderOptions& options() const;
  std::vector<BadSample> bad_samples() const;
  std::vector<int> worker_pids() const;

  const CudaOptions& cuda_options() const;
  /// Whether the device converts, rather than the workers.
  bool converts_on_device() const;
  CudaCounters counters() const;

 private:
  std::unique_ptr<cuda_detail::CudaSession> session_;
};

}  // namespace bale
