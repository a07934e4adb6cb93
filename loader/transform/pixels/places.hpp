// Where the values of an image are in a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bale/loader/transform/transform.hpp"

namespace bale::transform_detail {

/// The strides of an image, in values.
struct Places {
  std::size_t column;
  std::size_t row;
  std::size_t channel;
};

inline Places places_of(PixelLayout layout, std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
  if (layout == PixelLayout::nhwc) return {.column = channels, .row = std::size_t{width} * channels, .channel = 1};
  return {.column = 1, .row = width, .channel = std::size_t{width} * height};
}

/// Stores the value number `index` of an image that need not be aligned.
template <typename Value>
void store(std::byte* out, std::size_t index, Value value) {
  std::memcpy(out + index * sizeof value, &value, sizeof value);
}

}  // namespace bale::transform_detail
