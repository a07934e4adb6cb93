// Resizing to the nearest pixel, as Pillow's Image.resize(NEAREST) does: positions are sums of a step in double, so
// rounding accumulates. Internal.
//
// Threads: used by one thread at a time. Source: ImagingScaleAffine of Pillow's Geometry.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/resample/resample_filter.hpp"

namespace bale::image_detail {

/// The part of the input that these positions are taken from.
AxisSpan nearest_needs(const AxisSpec& spec);

/// Pixels that start at axis_needs() of both axes.
struct NearestSource {
  const std::uint8_t* pixels = nullptr;
  std::size_t stride = 0;
  std::uint32_t channels = 3;  // bytes of a pixel: 1 to 4
};

class NearestResize {
 public:
  void run(const AxisSpec& across, const AxisSpec& down, const NearestSource& source, std::uint8_t* out,
           std::size_t out_stride);

 private:
  std::vector<std::uint32_t> columns_;  // in bytes
  std::vector<std::uint32_t> rows_;
};

}  // namespace bale::image_detail
