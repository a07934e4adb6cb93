// A batch as tensors of LibTorch, without a copy:
//
//     const auto batch = std::make_shared<const bale::Batch>(*loader.next());
//     torch::Tensor images = bale::to_torch(bale::image_tensor(*batch), batch).to(torch::kCUDA);
//     torch::Tensor labels = bale::to_torch(bale::tensor_of(batch->labels()), batch);
//
// Ownership: the tensor shares the Batch, whose slot is free again after the last tensor and the last shared_ptr. It
// must not be written to; clone() it for that. Threads: tensors may be deleted in any thread.
// Not part of bale/bale.hpp, because it needs LibTorch's headers, 1.13 or later.
#pragma once

#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/loader/tensor.hpp"

namespace bale {

/// Throws `unsupported` for types that LibTorch 1.13 does not have: unsigned numbers of more than 8 bits.
inline at::ScalarType torch_type(TensorType type) {
  using Kind = TensorType::Kind;
  switch (type.kind) {
    case Kind::truth:
      return at::kBool;
    case Kind::brain:
      return at::kBFloat16;
    case Kind::natural:
      if (type.bits == 8) return at::kByte;
      break;
    case Kind::integer:
      return type.bits == 8 ? at::kChar : type.bits == 16 ? at::kShort : type.bits == 32 ? at::kInt : at::kLong;
    case Kind::real:
      return type.bits == 16 ? at::kHalf : type.bits == 32 ? at::kFloat : at::kDouble;
    case Kind::complex:
      return type.bits == 64 ? at::kComplexFloat : at::kComplexDouble;
  }
  throw Error(ErrorCode::unsupported, "LibTorch has no unsigned numbers of more than 8 bits",
              {.hint = "read TensorView::bytes, or set Transform::dtype"});
}

/// Any numbers, whose memory lives as long as `owner`.
inline at::Tensor to_torch(const TensorView& view, std::shared_ptr<const void> owner) {
  return at::from_blob(
      const_cast<std::byte*>(view.bytes.data()), view.shape, view.strides,
      [kept = std::move(owner)](void*) mutable { kept.reset(); }, at::TensorOptions().dtype(torch_type(view.type)));
}

}  // namespace bale
