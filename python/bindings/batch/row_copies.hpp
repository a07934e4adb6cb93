// copy_of, indices_of: values of a batch's rows as arrays of their own, which do not keep the batch.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <nanobind/ndarray.h>

#include "bale/python/bindings/bindings.hpp"

namespace bale::python {

// What every kind of batch says of its samples.
inline constexpr const char* k_indices_doc =
    "int64 positions in the dataset, one per row; of the substitute for a bad sample; 0 for an empty row.";
inline constexpr const char* k_keys_doc = "Keys of the samples at `indices`, looked up in the index at each access.";
inline constexpr const char* k_keys_signature = "def keys(self) -> list[str]";
inline constexpr const char* k_sizes_doc =
    "int64, N x 2: width and height of the stored images of the samples at `indices`, as bale.Dataset.image_sizes() "
    "has them.";
inline constexpr const char* k_sizes_signature = "def image_sizes(self) -> numpy.typing.NDArray[numpy.int64]";
inline constexpr const char* k_partners_doc =
    "int64 rows of the images that were mixed in, one per row: `fields` of the partner are those of that row. A row "
    "without a partner has its own number. None without mixing.";
inline constexpr const char* k_partners_signature = "def partners(self) -> numpy.typing.NDArray[numpy.int64] | None";

/// A copy. It does not keep the slot.
template <typename Value, typename Array>
Array copy_of(std::span<const Value> values) {
  auto owned = std::make_unique<Value[]>(values.size());
  std::copy(values.begin(), values.end(), owned.get());
  Value* const data = owned.get();
  const nb::capsule owner(owned.release(), [](void* memory) noexcept { delete[] static_cast<Value*>(memory); });
  const std::array<std::size_t, 1> count{values.size()};
  return Array(data, count.size(), count.data(), owner);
}

/// Positions in the dataset are far below 2^63.
inline nb::ndarray<nb::numpy, std::int64_t> indices_of(std::span<const std::uint64_t> samples) {
  const std::span<const std::int64_t> values(reinterpret_cast<const std::int64_t*>(samples.data()), samples.size());
  return copy_of<std::int64_t, nb::ndarray<nb::numpy, std::int64_t>>(values);
}

/// None without mixing.
inline nb::object partners_of(std::span<const std::uint32_t> rows) {
  if (rows.empty()) return nb::none();
  const std::vector<std::int64_t> numbers(rows.begin(), rows.end());
  const std::span<const std::int64_t> values(numbers);
  return nb::cast(copy_of<std::int64_t, nb::ndarray<nb::numpy, std::int64_t>>(values), nb::rv_policy::move);
}

}  // namespace bale::python
