// What every kind of Python batch has: the samples of its rows, and their fields.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <nanobind/ndarray.h>

#include "bale/python/bindings/bindings.hpp"

namespace bale::python {

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
