// Types and shapes of batches for DLPack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nanobind/ndarray.h>

#include "bale/loader/transform/transform.hpp"

namespace bale::python {

inline nanobind::dlpack::dtype dlpack_dtype(DType dtype) {
  using Code = nanobind::dlpack::dtype_code;
  switch (dtype) {
    case DType::uint8:
      return {static_cast<std::uint8_t>(Code::UInt), 8, 1};
    case DType::float16:
      return {static_cast<std::uint8_t>(Code::Float), 16, 1};
    case DType::bfloat16:
      return {static_cast<std::uint8_t>(Code::Bfloat), 16, 1};
    case DType::uint16:
      return {static_cast<std::uint8_t>(Code::UInt), 16, 1};
    case DType::float32:
      break;
  }
  return {static_cast<std::uint8_t>(Code::Float), 32, 1};
}

/// The shape, in memory order, of a batch whose images all have the same size.
inline std::vector<std::size_t> shape_of(const Transform& transform, std::size_t num_images) {
  if (transform.layout == PixelLayout::nchw) {
    return {num_images, transform.channels(), transform.height, transform.width};
  }
  return {num_images, transform.height, transform.width, transform.channels()};
}

}  // namespace bale::python
