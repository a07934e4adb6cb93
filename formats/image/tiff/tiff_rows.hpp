// A TIFF's samples as rows of RGB, with Pillow's arithmetic; internal.
#pragma once

#include "bale/formats/image/tiff/tiff_layout.hpp"

namespace bale::image_detail {

/// Where the samples of a row are: one start per plane, or one in all.
using TiffPlanes = std::array<const std::uint8_t*, 6>;

/// Converts rows of one image.
class TiffRows {
 public:
  TiffRows(const TiffFile& file, const TiffLayout& layout);
  void convert(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgb) const;
  /// The same, with alpha in a fourth byte.
  void convert_rgba(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgba) const;
  /// The samples themselves, of an image for which is_gray_16() is true. `out` need not be aligned.
  void copy_gray_16(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* out) const;

 private:
  std::uint8_t gray_of(const std::uint8_t* row, std::uint32_t x) const;
  std::uint8_t byte_of(const TiffPlanes& planes, std::uint32_t x, std::uint32_t number) const;
  void convert_color(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const;
  void convert_pixel(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const;

  TiffLayout layout_;
  std::uint32_t step_;  // samples from pixel to pixel
  std::array<Rgb, 256> palette_{};
};

}  // namespace bale::image_detail
