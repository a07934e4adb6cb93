// A batch as DLPack, which CuPy, JAX, LibTorch and others take without a copy:
//
//     const auto batch = std::make_shared<const bale::Batch>(*loader.next());
//     at::Tensor images = at::fromDLPack(bale::to_dlpack<DLManagedTensor>(bale::image_tensor(*batch), batch));
//
// `Managed` is the DLManagedTensor of whoever takes it: of <dlpack/dlpack.h> or <ATen/dlpack.h>. The caller hands the
// result to a library, which deletes it, or calls its deleter. It must not be written to.
//
// Ownership: the tensor shares the Batch, whose slot is free again after the last tensor and the last shared_ptr. With
// LoaderOptions::copy_when_held the Loader continues if many are kept. Threads: tensors may be deleted in any thread.
// The memory is the host's.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "bale/loader/batch.hpp"
#include "bale/loader/tensor.hpp"

namespace bale {

namespace loader_detail {

/// What a tensor of DLPack owns.
template <typename Managed>
struct DlpackTensor {
  TensorView view;
  std::shared_ptr<const void> owner;
  Managed managed{};

  static void destroy(Managed* managed) { delete static_cast<DlpackTensor*>(managed->manager_ctx); }
};

}  // namespace loader_detail

/// Any numbers, whose memory lives as long as `owner`.
template <typename Managed>
[[nodiscard]] Managed* to_dlpack(TensorView view, std::shared_ptr<const void> owner) {
  using Tensor = loader_detail::DlpackTensor<Managed>;
  auto tensor = std::make_unique<Tensor>(Tensor{.view = std::move(view), .owner = std::move(owner)});
  auto& array = tensor->managed.dl_tensor;
  array.data = const_cast<std::byte*>(tensor->view.bytes.data());
  array.device.device_type = static_cast<decltype(array.device.device_type)>(1);  // kDLCPU
  array.ndim = static_cast<decltype(array.ndim)>(tensor->view.shape.size());
  array.dtype.code = static_cast<decltype(array.dtype.code)>(tensor->view.type.kind);
  array.dtype.bits = tensor->view.type.bits;
  array.dtype.lanes = 1;
  array.shape = tensor->view.shape.data();
  array.strides = tensor->view.strides.data();
  tensor->managed.manager_ctx = tensor.get();
  tensor->managed.deleter = &Tensor::destroy;
  return &tensor.release()->managed;
}

/// The pixels of a view. Throws `invalid_argument` for ragged and raw transforms.
template <typename Managed>
[[nodiscard]] Managed* to_dlpack(std::shared_ptr<const Batch> batch, std::size_t view = 0) {
  TensorView images = image_tensor(*batch, view);
  return to_dlpack<Managed>(std::move(images), std::move(batch));
}

/// The labels, N x int64.
template <typename Managed>
[[nodiscard]] Managed* labels_to_dlpack(std::shared_ptr<const Batch> batch) {
  TensorView labels = tensor_of(batch->labels());
  return to_dlpack<Managed>(std::move(labels), std::move(batch));
}

}  // namespace bale
