#include "bale/formats/image/codec/whole_codec.hpp"

#include <memory>

#include "bale/formats/image/bmp/bmp_header.hpp"

namespace bale::image_detail {
namespace {

constexpr std::uint32_t scaled(std::uint32_t value, std::uint32_t max) { return value * 255 / max; }

Rgb rgb_16(const std::uint8_t* in, bool is_565) {
  const std::uint32_t pixel = in[0] | in[1] << 8;
  const std::uint32_t green_max = is_565 ? 63 : 31;
  return {static_cast<std::uint8_t>(scaled(pixel >> (is_565 ? 11 : 10) & 31, 31)),
          static_cast<std::uint8_t>(scaled(pixel >> 5 & green_max, green_max)),
          static_cast<std::uint8_t>(scaled(pixel & 31, 31))};
}

Rgb pixel_of(const BmpHeader& header, const std::uint8_t* row, std::size_t x) {
  switch (header.pixels) {
    case BmpPixels::bits_1:
      return gray((row[x / 8] >> (7 - x % 8) & 1) != 0 ? 255 : 0);
    case BmpPixels::bytes:
      return gray(row[x]);
    case BmpPixels::palette_1:
      return header.palette[row[x / 8] >> (7 - x % 8) & 1];
    case BmpPixels::palette_4:
      return header.palette[row[x / 2] >> (x % 2 == 0 ? 4 : 0) & 15];
    case BmpPixels::palette_8:
      return header.palette[row[x]];
    case BmpPixels::rgb_555:
    case BmpPixels::rgb_565:
      return rgb_16(row + x * 2, header.pixels == BmpPixels::rgb_565);
    case BmpPixels::channels:
      break;
  }
  const std::uint8_t* const pixel = row + x * header.pixel_bytes;
  return {pixel[header.order[0]], pixel[header.order[1]], pixel[header.order[2]]};
}

/// Whether the rows are all there. Those of a packed bitmap have no known length.
bool has_rows(Bytes bytes, const BmpHeader& header) {
  if (header.rle != BmpRle::none || header.width == 0 || header.height == 0) return false;
  if (header.row_bytes > header.stride || header.offset > bytes.size()) return false;
  const std::size_t rest = bytes.size() - header.offset;
  return header.row_bytes <= rest && header.height - 1 <= (rest - header.row_bytes) / header.stride;
}

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const BmpHeader header = read_bmp_header(bytes);
  check_pixel_budget(header.width, header.height, max_pixels);
  if (header.rle == BmpRle::none && !has_rows(bytes, header)) {
    fail_image(ErrorCode::damaged, "BMP: image data ends too early");
  }
  return {.kind = ImageKind::bmp, .width = header.width, .height = header.height, .channels = header.channels};
}

template <std::size_t pixel_bytes>
void decode_as(Bytes bytes, std::uint64_t, std::uint8_t* pixels) {
  BmpHeader header = read_bmp_header(bytes);
  const std::size_t num_pixels = std::size_t{header.width} * header.height;
  std::unique_ptr<std::uint8_t[]> indices;
  const std::uint8_t* rows = as_uchar(bytes) + header.offset;
  if (header.rle != BmpRle::none) {
    indices = std::make_unique<std::uint8_t[]>(num_pixels);
    read_bmp_rle(bytes, header, indices.get());
    rows = indices.get();
    header.stride = header.width;
    // Black and white that is packed has a byte per pixel too, and every one but 0 is white.
    if (header.pixels == BmpPixels::bits_1) {
      header.palette.fill(gray(255));
      header.palette[0] = {};
    }
    if (header.pixels != BmpPixels::bytes) header.pixels = BmpPixels::palette_8;
  }
  for (std::uint32_t y = 0; y < header.height; ++y) {
    const std::uint32_t at = header.top_down ? y : header.height - 1 - y;
    std::uint8_t* out = pixels + std::size_t{at} * header.width * pixel_bytes;
    const std::uint8_t* const row = rows + y * header.stride;
    for (std::size_t x = 0; x < header.width; ++x, out += pixel_bytes) {
      put(out, pixel_of(header, row, x));
      if constexpr (pixel_bytes == 4) out[3] = header.alpha ? row[x * header.pixel_bytes + *header.alpha] : 255;
    }
  }
}

bool has_end(Bytes bytes) {
  try {
    return has_rows(bytes, read_bmp_header(bytes));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

const WholeCodec k_bmp_codec{open, decode_as<3>, has_end, decode_as<4>};

}  // namespace bale::image_detail
