// DeviceBatch: a batch in the memory of a CUDA device.
//
// next(stream) returns while the batch may still be copied. Work that is enqueued on that stream afterwards runs after
// the copy, so the host does not wait:
//
//   auto batch = loader.next(stream);
//   forward<<<..., stream>>>(static_cast<const __half*>(batch->images()), ...);
//
// Ownership: the DeviceBatch owns its device memory until it is destroyed. Work that was enqueued on its stream before
// that may still use the memory; later work may not. A DeviceBatch may outlive its CudaLoader. Streams must outlive the
// batches that were made for them. If a stream is being captured into a graph when a batch is destroyed, the memory is
// not reused before the capture is over; what the graph reads later is not protected. Threads: a DeviceBatch is used by
// one thread at a time. It may be destroyed in any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "bale/formats/base/held.hpp"
#include "bale/loader/transform/field.hpp"
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

  /// As in Batch.
  std::uint64_t index() const;
  std::uint64_t epoch() const;
  std::size_t size() const;

  /// Device memory: size() x H x W x 3 or size() x 3 x H x W, in the transform's layout and dtype, without gaps.
  void* images() const;
  /// Device memory: size() labels, as Batch::labels().
  std::int64_t* labels() const;
  /// Device memory: size() bytes, as Batch::mask().
  std::uint8_t* mask() const;
  /// Device memory: size() labels of the images that each image was mixed with. nullptr unless MixOptions::active().
  std::int64_t* partner_labels() const;
  /// Device memory: size() weights of each image's own label in the loss, 1 if it was not mixed. The partner's label
  /// has the rest. nullptr unless MixOptions::active().
  float* shares() const;

  /// Host memory: size() sample numbers, as Batch::samples().
  std::span<const std::uint64_t> samples() const;
  /// Host memory: size() row numbers, as Batch::partners().
  std::span<const std::uint32_t> partners() const;

  /// Host memory: the fields of LoaderOptions::fields, as in Batch.
  std::size_t num_fields() const;
  BatchField field(std::size_t field) const;
  BatchField field(std::string_view name) const;
  /// Keeps what field() returns, without the memory on the device.
  std::shared_ptr<const void> field_memory() const;

  /// Whether the caller held at least CudaOptions::hold other batches when this one was delivered.
  bool is_beyond_hold() const;
  const Transform& transform() const;
  /// CUDA's number of the device.
  int device() const;
  /// The stream of next().
  CudaStream stream() const;
  /// Makes the batch usable on another stream: work that is enqueued there from now on runs after the copy, and work
  /// that was enqueued there before the batch is destroyed may use it. Throws `io` if the driver failed, and
  /// `invalid_argument` if that stream is being captured into a CUDA graph.
  void use_on(CudaStream other);

 private:
  Held<std::unique_ptr<cuda_detail::DeliveredBatch>> delivered_;
};

}  // namespace bale
