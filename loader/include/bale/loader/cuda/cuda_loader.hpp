// CudaLoader: a Loader that delivers batches in the memory of a CUDA device.
//
//   bale::CudaLoader loader{"packs/train", {.batch_size = 256, .seed = 1, .transform = transform}, {.device = 0}};
//   for (bale::DeviceBatch& batch : loader.on(stream)) step<<<..., stream>>>(batch.images(), batch.labels());
//
// The next batches are copied while the device works. The batches are those of Loader, bit for bit. If the transform's
// dtype is a float type, the workers make 8-bit pixels and the device converts them.
//
// The driver (libcuda.so.1) is loaded at run time. CUDA is not needed to build or to start a program.
//
// Threads: a CudaLoader is used by one thread at a time, except request_stop(). Batches may be destroyed in any thread.
// With workers, the loader has a thread of its own, which starts copies between calls of next(); it runs no code of the
// caller. Processes: as for Loader. After fork(), only the parent may use it.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/held.hpp"
#include "bale/loader/cuda/device_batch.hpp"
#include "bale/loader/loader.hpp"
#include "bale/loader/transform/mix_draw.hpp"

namespace bale {

namespace cuda_detail {
class CudaSession;
}

/// Who decodes JPEGs. The device does it by NVIDIA's nvJPEG, whose pixels are not those of libjpeg-turbo: batches
/// differ from those of a Loader, in pixels only. It is for transforms that crop, resize once by bilinear or bicubic,
/// and mirror.
enum class DecodeOn : std::uint8_t {
  host,    // the workers
  device,  // nvJPEG, if it is found; what it does not decode, the host does
};

struct CudaOptions {
  int device = 0;               // CUDA's number, among the devices of CUDA_VISIBLE_DEVICES
  std::uint32_t depth = 2;      // batches that are copied ahead of the one that next() returns, 1..1024
  std::uint32_t hold = 3;       // batches that the caller holds for which memory is allocated in advance, 1..1024; for
                                // each batch more, the loader allocates device memory
  bool convert = true;          // convert on the device, if it takes bale's kernels; otherwise the workers convert
  double flip_probability = 0;  // mirror images on the device, for transforms that do not; needs a float type
  MixOptions mix{};             // needs a float type
  bool copy_thread = true;  // start each copy when its batch is ready, in a thread of the loader's own; otherwise only
                            // next() starts copies
  bool page_lock =
      true;  // page-lock what copies start from; without it they are slower, and the system may swap the ring
  bool timing = false;  // measure the counters that are marked "timing"
  DecodeOn decode = DecodeOn::host;
  std::string nvjpeg_library{};  // path; empty: libnvjpeg.so.13 or .12, found by name
};

struct CudaCounters {
  std::uint64_t batches = 0;         // delivered
  std::uint64_t samples = 0;         // delivered rows with mask 1
  std::uint64_t copied_bytes = 0;    // to the device
  std::uint64_t pageable_bytes = 0;  // of those, from memory that the driver did not page-lock
  double workers_wait_seconds = 0;   // spent in next() waiting for workers
  double device_wait_seconds = 0;    // spent in next() waiting for the device
  double copy_seconds = 0;           // timing: duration of the copies on the device, and of decoding there
  double stall_seconds = 0;          // timing: how long streams waited for a copy
  std::uint64_t workers_replaced = 0;
  std::uint64_t decoded_on_device = 0;      // images, of batches copied so far; the others were decoded by workers
  std::uint64_t decoded_after_refusal = 0;  // images that workers left to the device, and this process decoded
  std::uint64_t batches_beyond_hold = 0;    // delivered while the caller held `hold` batches or more
};

/// Whether there is a CUDA driver and a device. Never throws.
bool cuda_is_available();

class CudaLoader {
 public:
  /// Opens dataset and device, and allocates device memory for `depth + hold` batches.
  /// Throws what Loader's constructor throws, and
  ///   `not_found`         there is no driver or no such device
  ///   `io`                the device does not have enough memory, or the driver failed
  ///   `unsupported`       the transform is ragged or raw
  ///   `invalid_argument`  an option is out of range or needs a float type, or the device cannot decode for the
  ///   transform
  CudaLoader(const std::string& spec, LoaderOptions options, CudaOptions cuda = {});
  CudaLoader(const std::string& spec, LoaderOptions options, CudaOptions cuda, Selection selection);
  /// Waits for copies that are running. Batches that are held stay valid.
  ~CudaLoader();
  CudaLoader(CudaLoader&&) noexcept;
  CudaLoader& operator=(CudaLoader&&) noexcept;

  /// Starts the workers and page-locks the ring, if that was not done. Throws what Loader::start() throws.
  void start();

  /// The next batch, for use on `stream`; nullopt once at the end of each epoch. Waits for workers, but for the device
  /// only if it is a whole ring behind. Throws what Loader::next() throws, and `io` if the driver failed or the device
  /// has no memory for a batch beyond `hold`; the next call returns the same batch. Throws `invalid_argument` if the
  /// stream is being captured into a CUDA graph.
  [[nodiscard]] std::optional<DeviceBatch> next(CudaStream stream = nullptr);
  /// The same, with `on_wait` as in Loader::next().
  [[nodiscard]] std::optional<DeviceBatch> next(CudaStream stream, const std::function<void()>& on_wait);
  /// As in Loader. Any thread may call it.
  void request_stop();

  /// The batches up to the end of the epoch, by next(stream): for (DeviceBatch& batch : loader.on(stream)). A loop that
  /// was left by `break` is continued by the next one. To keep a batch, move it.
  class OnStream;
  OnStream on(CudaStream stream) BALE_LIFETIMEBOUND;
  /// The same on the default stream.
  class Iterator;
  Iterator begin() BALE_LIFETIMEBOUND;
  std::default_sentinel_t end() const { return {}; }

  // As in Loader. They describe the last batch that next() returned, not the batches that are copied ahead.
  void set_epoch(std::uint64_t epoch);
  std::uint64_t epoch() const;
  std::uint64_t size() const;
  LoaderState state() const;
  void load_state(const LoaderState& state);
  const Dataset& dataset() const;
  /// The options, with the transform as it is delivered.
  const LoaderOptions& options() const;
  std::vector<BadSample> bad_samples() const;
  std::vector<int> worker_pids() const;

  const CudaOptions& cuda_options() const;
  /// Whether the device converts pixels, not the workers.
  bool converts_on_device() const;
  CudaCounters counters() const;
  /// Whether workers leave JPEGs to the device.
  bool decodes_on_device() const;
  /// What the driver or the device refused and is done in a slower way, one sentence each, with the driver's reason.
  /// Complete once start() or next() was called, except that a device may stop decoding later.
  std::vector<std::string> fallbacks() const;

 private:
  Held<std::unique_ptr<cuda_detail::CudaSession>> session_;
};

/// An input iterator, which holds the batch that it is at.
class CudaLoader::Iterator {
 public:
  Iterator(CudaLoader& loader, CudaStream stream) : loader_(&loader), stream_(stream), batch_(loader.next(stream)) {}

  DeviceBatch& operator*() { return *batch_; }
  Iterator& operator++() {
    batch_.reset();  // its buffer is free before next() waits
    batch_ = loader_->next(stream_);
    return *this;
  }
  friend bool operator==(const Iterator& at, std::default_sentinel_t) { return !at.batch_; }

 private:
  CudaLoader* loader_;
  CudaStream stream_;
  std::optional<DeviceBatch> batch_;
};

class CudaLoader::OnStream {
 public:
  OnStream(CudaLoader& loader, CudaStream stream) : loader_(&loader), stream_(stream) {}

  Iterator begin() const { return Iterator(*loader_, stream_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  CudaLoader* loader_;
  CudaStream stream_;
};

inline CudaLoader::OnStream CudaLoader::on(CudaStream stream) { return OnStream(*this, stream); }
inline CudaLoader::Iterator CudaLoader::begin() { return Iterator(*this, nullptr); }

}  // namespace bale
