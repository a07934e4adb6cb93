// A BMP's header as Pillow's BmpImagePlugin understands it; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {

enum class BmpPixels : std::uint8_t {
  bits_1,     // black and white
  bytes,      // 8-bit gray
  palette_1,  // indices
  palette_4,
  palette_8,
  rgb_555,
  rgb_565,
  channels,  // bytes of color, at `order`
};

enum class BmpRle : std::uint8_t { none, rle_8, rle_4 };

struct BmpHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool top_down = false;
  BmpPixels pixels = BmpPixels::channels;
  BmpRle rle = BmpRle::none;
  std::uint32_t pixel_bytes = 0;        // of `channels`
  std::array<std::uint8_t, 3> order{};  // where red, green and blue are within the pixel
  std::optional<std::uint8_t> alpha{};  // where alpha is within the pixel
  std::size_t stride = 0;               // from row to row
  std::size_t row_bytes = 0;            // of a row that are read
  std::size_t offset = 0;               // of the pixels
  std::uint32_t channels = 3;           // in the file: 4 of 32 bits
  std::array<Rgb, 256> palette{};       // black after its end
};

/// Throws `damaged` or `unsupported`.
BmpHeader read_bmp_header(Bytes bytes);

}  // namespace bale::image_detail
