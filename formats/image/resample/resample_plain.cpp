#include <algorithm>

#include "bale/formats/image/resample/resample_kernels.hpp"

namespace bale::image_detail {

void resample_across_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  for (std::uint32_t y = 0; y < in.height; ++y) {
    const std::uint8_t* row = in.rgb + y * in.stride;
    std::uint8_t* to = out.rgb + y * out.stride;
    for (std::uint32_t x = 0; x < filter.size(); ++x, to += 3) {
      const std::uint8_t* pixel = row + std::size_t{filter.first(x)} * 3;
      const std::int32_t* weights = filter.weights(x);
      std::int32_t sums[3] = {k_half, k_half, k_half};
      for (std::uint32_t i = 0; i < filter.num_taps(x); ++i, pixel += 3) {
        for (int channel = 0; channel < 3; ++channel) sums[channel] += pixel[channel] * weights[i];
      }
      for (int channel = 0; channel < 3; ++channel) to[channel] = round_to_byte(sums[channel]);
    }
  }
}

void resample_down_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  constexpr std::size_t k_strip_bytes = 256;  // the sums of a strip stay in registers and L1 cache
  std::int32_t sums[k_strip_bytes];
  const std::size_t row_bytes = std::size_t{in.width} * in.pixel_bytes;
  for (std::uint32_t y = 0; y < filter.size(); ++y) {
    const std::int32_t* weights = filter.weights(y);
    for (std::size_t begin = 0; begin < row_bytes; begin += k_strip_bytes) {
      const std::size_t count = std::min(k_strip_bytes, row_bytes - begin);
      const std::uint8_t* row = in.rgb + filter.first(y) * in.stride + begin;
      std::fill_n(sums, count, k_half);
      for (std::uint32_t i = 0; i < filter.num_taps(y); ++i, row += in.stride) {
        for (std::size_t x = 0; x < count; ++x) sums[x] += row[x] * weights[i];
      }
      std::uint8_t* to = out.rgb + y * out.stride + begin;
      for (std::size_t x = 0; x < count; ++x) to[x] = round_to_byte(sums[x]);
    }
  }
}

}  // namespace bale::image_detail
