// Both passes over values of 16 bits, as Pillow does for mode I;16: sums in double, each pass rounded to 16 bits. Built
// without contraction of a * b + c. Source: Pillow's Resample.c.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "bale/formats/image/resample/resample_kernels.hpp"

namespace bale::image_detail {
namespace {

std::uint16_t value_at(const std::uint8_t* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void store_rounded(double sum, std::uint8_t* out) {
  const auto value = static_cast<std::uint16_t>(std::clamp(std::floor(sum + 0.5), 0.0, 65535.0));
  std::memcpy(out, &value, sizeof value);
}

}  // namespace

void resample_across_16(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  for (std::uint32_t y = 0; y < in.height; ++y) {
    const std::uint8_t* const row = in.rgb + y * in.stride;
    for (std::uint32_t x = 0; x < filter.size(); ++x) {
      const double* const weights = filter.exact_weights(x);
      double sum = 0;
      for (std::uint32_t i = 0; i < filter.num_taps(x); ++i) {
        sum += value_at(row + (std::size_t{filter.first(x)} + i) * 2) * weights[i];
      }
      store_rounded(sum, out.rgb + y * out.stride + std::size_t{x} * 2);
    }
  }
}

void resample_down_16(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  for (std::uint32_t y = 0; y < filter.size(); ++y) {
    const double* const weights = filter.exact_weights(y);
    for (std::uint32_t x = 0; x < in.width; ++x) {
      const std::uint8_t* at = in.rgb + filter.first(y) * in.stride + std::size_t{x} * 2;
      double sum = 0;
      for (std::uint32_t i = 0; i < filter.num_taps(y); ++i, at += in.stride) sum += value_at(at) * weights[i];
      store_rounded(sum, out.rgb + y * out.stride + std::size_t{x} * 2);
    }
  }
}

}  // namespace bale::image_detail
