// PixelConverter: 8-bit RGB pixels to the type and layout of a batch.
//
// A value becomes what torchvision's ToTensor and Normalize make of it: v / 255, then (v - mean) / stddev, in float32,
// then rounded to a 16-bit type where one is wanted. There are 3 x 256 values, so they are tables. Immutable; any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::transform_detail {

class PixelConverter {
 public:
  explicit PixelConverter(const Transform& transform);

  /// Writes `pixels` into the top left of an image of width x height at `out`; the rest of it stays as it is.
  /// `out` needs no alignment.
  void run(const PixelView& pixels, std::uint32_t width, std::uint32_t height, std::byte* out) const;

 private:
  template <typename Value>
  using Tables = std::array<std::array<Value, 256>, 3>;

  DType dtype_;
  PixelLayout layout_;
  Tables<std::uint8_t> bytes_{};
  Tables<std::uint16_t> halves_{};
  Tables<float> floats_{};
};

}  // namespace bale::transform_detail
