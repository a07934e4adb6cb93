// Pillow smooths in float32 with weights of 1/13 and 5/13. Its result is that of whole numbers, since no sum of them
// comes closer than 1/26 to where rounding changes. Built once per instruction set, without contraction of a * b + c.

#include "bale/formats/image/blur/blur.hpp"
#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/blur/smooth.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {

/// Blends the smoothed values of a row with those of the row, from value 3 to value `end`.
void sharpen_row(const std::uint8_t* HWY_RESTRICT above, const std::uint8_t* HWY_RESTRICT row,
                 const std::uint8_t* HWY_RESTRICT below, std::size_t end, float factor,
                 std::uint8_t* HWY_RESTRICT out) {
  for (std::size_t i = 3; i < end; ++i) {
    const int sum = above[i - 3] + above[i] + above[i + 3] + row[i - 3] + row[i + 3] + below[i - 3] + below[i] +
                    below[i + 3] + row[i] * 5;
    const int smooth = ((sum + 6) * 5042) >> 16;  // sum / 13, rounded: exact up to 13 * 255
    float mixed = static_cast<float>(smooth) + factor * static_cast<float>(row[i] - smooth);
    mixed = mixed > 0.0F ? mixed : 0.0F;
    mixed = mixed < 255.0F ? mixed : 255.0F;
    out[i] = static_cast<std::uint8_t>(static_cast<int>(mixed));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstring>

namespace bale::image_detail {
namespace {

HWY_EXPORT(sharpen_row);

}  // namespace

void Blurrer::sharpen(const Raster& source, double factor, std::uint8_t* out) {
  const std::size_t stride = source.stride();
  // The pixels at the edge are not smoothed, and blending them with themselves changes nothing.
  std::memcpy(out, source.pixels, stride * source.height);
  if (source.width < 3 || source.height < 3) return;
  for (std::size_t y = 1; y + 1 < source.height; ++y) {
    const std::uint8_t* row = source.pixels + y * stride;
    HWY_DYNAMIC_DISPATCH(sharpen_row)
    (row - stride, row, row + stride, stride - 3, static_cast<float>(factor), out + y * stride);
  }
}

}  // namespace bale::image_detail
#endif
