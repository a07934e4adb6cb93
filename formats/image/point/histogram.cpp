#include "bale/formats/image/point/histogram.hpp"

namespace bale::image_detail {

Histogram histogram_of(const std::uint8_t* rgb, std::size_t num_pixels) {
  // Two counters for neighbors: counting equal values in turn would wait for memory.
  Histogram counts[2] = {};
  std::size_t i = 0;
  for (; i + 2 <= num_pixels; i += 2, rgb += 6) {
    ++counts[0][0][rgb[0]];
    ++counts[0][1][rgb[1]];
    ++counts[0][2][rgb[2]];
    ++counts[1][0][rgb[3]];
    ++counts[1][1][rgb[4]];
    ++counts[1][2][rgb[5]];
  }
  if (i < num_pixels) {
    for (std::size_t channel = 0; channel < 3; ++channel) ++counts[0][channel][rgb[channel]];
  }
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) counts[0][channel][value] += counts[1][channel][value];
  }
  return counts[0];
}

}  // namespace bale::image_detail
