// How a TIFF's samples make pixels, for the combinations that Pillow reads; internal.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/tiff/tiff_file.hpp"

namespace bale::image_detail {

enum class TiffPixels : std::uint8_t {
  gray,           // 1, 2, 4, 8, 12, 16 or 32 bits
  palette,        // 1, 2, 4 or 8 bits
  rgb,            // 8 or 16 bits
  premultiplied,  // RGB times alpha, 8 or 16 bits
  cmyk,           // 8 or 16 bits
  rgba_image,     // what libtiff itself must turn into RGB
};

struct TiffLayout {
  std::uint32_t width = 0;  // before the orientation is applied
  std::uint32_t height = 0;
  TiffPixels pixels = TiffPixels::gray;
  std::uint32_t bits = 1;     // of a sample
  std::uint32_t samples = 1;  // of a pixel
  std::uint32_t sample_format = SAMPLEFORMAT_UINT;
  std::uint32_t alpha = 0;  // number of the sample that is alpha; 0: none
  bool inverted = false;    // 0 is white
  bool separate = false;    // a plane per sample
  bool tiled = false;
  std::uint32_t block_width = 0;   // of a tile, or of all columns
  std::uint32_t block_height = 0;  // of a tile or strip
};

/// Whether Pillow calls it 16-bit gray: unsigned samples of 12 or 16 bits.
inline bool is_gray_16(const TiffLayout& layout) {
  return layout.pixels == TiffPixels::gray && layout.samples == 1 && layout.sample_format == SAMPLEFORMAT_UINT &&
         (layout.bits == 12 || layout.bits == 16);
}

/// Throws `unsupported` for a combination that Pillow does not read either, or that docs name; `damaged`.
TiffLayout read_tiff_layout(const TiffFile& file, std::uint64_t max_pixels);

/// The palette of an image that has one. Throws `damaged` if there is none.
std::array<Rgb, 256> read_tiff_palette(const TiffFile& file, std::uint32_t bits);

}  // namespace bale::image_detail
