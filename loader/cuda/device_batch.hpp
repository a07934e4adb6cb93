// DeviceBatch: a batch in the memory of a CUDA device.
//
// next(stream) returns at once, while the batch may still be on its way: work that is given to that stream afterwards
// finds it there. The memory is the batch's until it is destroyed; then what the stream was given up to that moment may
// still use it, and nothing that comes later.
//
//   auto batch = loader.next(stream);
//   forward<<<..., stream>>>(static_cast<const __half*>(batch->images()), ...);   // no waiting
//
// Threads: any one thread at a time may use a DeviceBatch; it may be destroyed in any. Streams outlive the batches that
// were made for them. A DeviceBatch may outlive its CudaLoader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bale/loader/transform/transform.hpp"

namespace bale {

namespace cuda_detail {
struct DeliveredBatch;
}

/// A cudaStream_t or CUstream; nullptr is the default stream.
using CudaStream = void*;

class DeviceBatch {
 public:
  explicit DeviceBatch(std::unique_ptr<cuda_detail::DeliveredBatch> delivered);
  DeviceBatch(DeviceBatch&&) noexcept;
  DeviceBatch& operator=(DeviceBatch&&) noexcept;
  ~DeviceBatch();

  /// As Batch has them.
  std::uint64_t index() const;
  std::uint64_t epoch() const;
  std::size_t size() const;

  /// Device memory: size() x H x W x C, or size() x C x H x W, of the transform's dtype and layout, without gaps.
  void* images() const;
  /// size() class numbers, k_no_label where there is none. Device memory, as is what follows.
  std::int64_t* labels() const;
  /// size() bytes, 1 where the row counts once in this epoch.
  std::uint8_t* mask() const;
  /// Under MixOptions: the labels of the partners, and each image's own share in the loss (float32, 1 where it was not
  /// mixed). Else nullptr.
  std::int64_t* partner_labels() const;
  float* shares() const;

  /// Positions in the Dataset; host memory.
  std::span<const std::uint64_t> samples() const;

  /// Whether the caller held CudaOptions::hold batches or more when this one was delivered.
  bool is_beyond_hold() const;
  const Transform& transform() const;
  int device() const;
  CudaStream stream() const;
  /// Lets another stream use the batch: what it is given from now on finds the batch there, and what it has been given
  /// when the batch is destroyed may use it too.
  void use_on(CudaStream other);

 private:
  std::unique_ptr<cuda_detail::DeliveredBatch> delivered_;
};

}  // namespace bale
