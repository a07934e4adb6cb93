// PixelConverter: converts pixels to the type and layout of a batch, in which pixels may then be erased. Only values of
// 8 bits are changed.
//
// Values are converted as by torchvision's ToTensor and Normalize: v / 255, then (v - mean) / stddev, in float32, then
// rounded if the type has 16 bits. The 256 results of each channel are kept in tables. Immutable; safe in any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::transform_detail {

class PixelConverter {
 public:
  explicit PixelConverter(const Transform& transform);

  /// Writes `pixels` to the top left of the width x height image at `out`. The rest of that image is not changed. `out`
  /// need not be aligned. Of pixels with more channels than the batch, which are gray, the first is taken.
  void run(const PixelView& pixels, std::uint32_t width, std::uint32_t height, std::byte* out) const;

 private:
  template <typename Value>
  using Tables = std::array<std::array<Value, 256>, 4>;

  DType dtype_;
  PixelLayout layout_;
  std::uint32_t channels_;
  Tables<std::uint8_t> bytes_{};
  Tables<std::uint16_t> halves_{};
  Tables<float> floats_{};
};

/// The converted values of each channel, channels x 256 of the transform's type: what PixelConverter makes of 0 .. 255.
std::vector<std::byte> conversion_table(Transform transform);

/// Overwrites the step's rectangle in an image of `transform`'s size, type and layout at `out`. Normal numbers come
/// from KeyedRandom{noise_seed}: per channel, or in the order channel, row, column.
void erase_converted(const step::Erase& erase, const Transform& transform, MutableBytes out);

}  // namespace bale::transform_detail
