// Raster: borrowed pixels without gaps between rows. Internal.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

/// Copies single pixels of a raster. RGB is copied in words of four bytes, except the source's last pixel: the byte
/// after a pixel is then overwritten too, so pixels of a row must be written from left to right, and the last one by
/// copy_last().
template <std::uint32_t channels>
class PixelCopier {
 public:
  explicit PixelCopier(const Raster& source)
      : pixels_(source.pixels), last_(std::size_t{source.width} * source.height - 1) {}

  void copy(std::size_t number, std::uint8_t* to) const {
    if (channels == 3 && number != last_) {
      std::memcpy(to, pixels_ + number * 3, 4);
    } else {
      copy_last(number, to);
    }
  }
  /// copy() of a pixel that is not the source's last.
  void copy_before_last(std::size_t number, std::uint8_t* to) const {
    std::memcpy(to, pixels_ + number * channels, channels == 3 ? 4 : channels);
  }
  void copy_last(std::size_t number, std::uint8_t* to) const { std::memcpy(to, pixels_ + number * channels, channels); }

 private:
  const std::uint8_t* pixels_;
  std::size_t last_;
};

}  // namespace bale::image_detail
