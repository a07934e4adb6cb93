// A batch as DLPack, which LibTorch, CuPy, JAX and others take without a copy:
//
//     const auto batch = std::make_shared<const bale::Batch>(*loader.next());
//     at::Tensor images = at::fromDLPack(bale::to_dlpack<DLManagedTensor>(batch));
//
// Ownership: the tensor shares the Batch, whose slot is free again after the last tensor and the last shared_ptr. With
// LoaderOptions::copy_when_held the Loader continues if many are kept. Threads: tensors may be deleted in any thread.
// The memory is the host's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/batch.hpp"

namespace bale {

namespace loader_detail {

/// What a tensor of a batch owns.
template <typename Managed>
struct BatchTensor {
  std::shared_ptr<const Batch> batch;
  std::int64_t shape[4] = {};
  std::int64_t strides[4] = {};  // in values
  Managed managed{};

  static void destroy(Managed* managed) { delete static_cast<BatchTensor*>(managed->manager_ctx); }
};

/// `code` as in DLDataTypeCode.
template <typename Managed>
Managed* batch_tensor(std::unique_ptr<BatchTensor<Managed>> tensor, Bytes data, int num_dimensions, unsigned code,
                      unsigned bits) {
  std::int64_t stride = 1;
  for (int i = num_dimensions - 1; i >= 0; --i) {
    tensor->strides[i] = stride;
    stride *= tensor->shape[i];
  }
  auto& array = tensor->managed.dl_tensor;
  array.data = const_cast<std::byte*>(data.data());
  array.device.device_type = static_cast<decltype(array.device.device_type)>(1);  // kDLCPU
  array.ndim = num_dimensions;
  array.dtype.code = static_cast<decltype(array.dtype.code)>(code);
  array.dtype.bits = static_cast<decltype(array.dtype.bits)>(bits);
  array.dtype.lanes = 1;
  array.shape = tensor->shape;
  array.strides = tensor->strides;
  tensor->managed.manager_ctx = tensor.get();
  tensor->managed.deleter = &BatchTensor<Managed>::destroy;
  return &tensor.release()->managed;
}

}  // namespace loader_detail

/// The pixels of a view, N x H x W x C or N x C x H x W in the transform's dtype. `Managed` is the DLManagedTensor of
/// whoever takes it: of <dlpack/dlpack.h> or <ATen/dlpack.h>. The caller hands the result to a library, which deletes
/// it, or calls its deleter. It must not be written to. Throws `invalid_argument` for ragged and raw transforms.
template <typename Managed>
[[nodiscard]] Managed* to_dlpack(std::shared_ptr<const Batch> batch, std::size_t view = 0) {
  constexpr unsigned k_unsigned = 1;
  constexpr unsigned k_float = 2;
  constexpr unsigned k_bfloat = 4;
  const Bytes pixels = batch->pixels(view);
  const Transform& transform = batch->transform(view);
  const bool is_float = transform.dtype == DType::float16 || transform.dtype == DType::float32;
  const unsigned code = transform.dtype == DType::bfloat16 ? k_bfloat : is_float ? k_float : k_unsigned;
  auto tensor = std::make_unique<loader_detail::BatchTensor<Managed>>();
  const bool channels_first = transform.layout == PixelLayout::nchw;
  std::int64_t* shape = tensor->shape;
  *shape++ = static_cast<std::int64_t>(batch->size());
  if (channels_first) *shape++ = transform.channels();
  *shape++ = transform.height;
  *shape++ = transform.width;
  if (!channels_first) *shape++ = transform.channels();
  tensor->batch = std::move(batch);
  return loader_detail::batch_tensor(std::move(tensor), pixels, 4, code,
                                     static_cast<unsigned>(8 * dtype_bytes(transform.dtype)));
}

/// The labels, N x int64, likewise.
template <typename Managed>
[[nodiscard]] Managed* labels_to_dlpack(std::shared_ptr<const Batch> batch) {
  constexpr unsigned k_int = 0;
  const Bytes labels = std::as_bytes(batch->labels());
  auto tensor = std::make_unique<loader_detail::BatchTensor<Managed>>();
  tensor->shape[0] = static_cast<std::int64_t>(batch->size());
  tensor->batch = std::move(batch);
  return loader_detail::batch_tensor(std::move(tensor), labels, 1, k_int, 64);
}

}  // namespace bale
