// Raster: borrowed pixels without gaps between rows. Internal.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// One value per channel; a picture of one channel uses the first.
using Fill = std::array<std::uint8_t, 3>;

struct Raster {
  const std::uint8_t* pixels = nullptr;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 3;  // 3: RGB; 1: a mask

  std::size_t stride() const { return std::size_t{width} * channels; }
};

/// Where pixels are written, without gaps between rows. The number of channels is that of the source.
struct RasterOut {
  std::uint8_t* pixels = nullptr;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

}  // namespace bale::image_detail
