// What every kind of Python batch has: the samples of its rows, and their fields.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <nanobind/ndarray.h>

#include "bale/loader/transform/transform.hpp"
#include "bale/python/bindings/bindings.hpp"

namespace bale::python {

// Types and shapes of batches for DLPack.
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

/// `AnyBatch` is ProcessBatch or ProcessDeviceBatch.
template <typename AnyBatch>
void bind_rows(nb::class_<AnyBatch>& batch);

/// Values of a batch's rows as an array of their own, which does not keep the batch.
template <typename Value, typename Array = nb::ndarray<nb::numpy, Value>>
Array copy_of(std::span<const Value> values) {
  auto owned = std::make_unique<Value[]>(values.size());
  std::copy(values.begin(), values.end(), owned.get());
  Value* const data = owned.get();
  const nb::capsule owner(owned.release(), [](void* memory) noexcept { delete[] static_cast<Value*>(memory); });
  const std::array<std::size_t, 1> count{values.size()};
  return Array(data, count.size(), count.data(), owner);
}

/// None if there are none, as without mixing.
template <typename Value>
nb::object copy_or_none(std::span<const Value> values) {
  return values.empty() ? nb::none() : nb::cast(copy_of(values), nb::rv_policy::move);
}

}  // namespace bale::python
