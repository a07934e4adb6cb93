#include "bale/formats/image/tiff/tiff_rows.hpp"

#include <algorithm>
#include <cstring>

namespace bale::image_detail {
namespace {

template <typename Value>
Value load(const std::uint8_t* at) {
  Value value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

template <typename Value>
std::uint8_t clipped(Value value) {
  if (value >= Value{255}) return 255;
  return value > Value{0} ? static_cast<std::uint8_t>(value) : std::uint8_t{0};  // 0 also for a NaN
}

/// Sample `x` of a row of 1, 2, 4 or 8 bits each.
std::uint32_t bits_at(const std::uint8_t* row, std::uint32_t x, std::uint32_t bits) {
  const std::uint32_t per_byte = 8 / bits;
  return std::uint32_t{row[x / per_byte]} >> (8 - bits - x % per_byte * bits) & ((1u << bits) - 1);
}

/// 12 bits: two samples in three bytes.
std::uint32_t twelve_bits_at(const std::uint8_t* row, std::uint32_t x) {
  const std::uint8_t* const at = row + x / 2 * 3;
  return x % 2 == 0 ? std::uint32_t{at[0]} << 4 | at[1] >> 4 : (at[1] & 15u) << 8 | at[2];
}

std::uint8_t without_alpha(std::uint32_t color, std::uint32_t alpha) {
  if (alpha == 0) return 0;
  return static_cast<std::uint8_t>(std::min(color * 255 / alpha, 255u));
}

/// a * b / 255, rounded.
std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

TiffRows::TiffRows(const TiffFile& file, const TiffLayout& layout)
    : layout_(layout), step_(layout.separate ? 1 : layout.samples) {
  if (layout.pixels == TiffPixels::palette) palette_ = read_tiff_palette(file, layout.bits);
}

std::uint8_t TiffRows::gray_of(const std::uint8_t* row, std::uint32_t x) const {
  switch (layout_.bits) {
    case 12:
      return clipped(twelve_bits_at(row, x));
    case 16:
      return layout_.sample_format == SAMPLEFORMAT_INT ? clipped(load<std::int16_t>(row + x * std::size_t{2}))
                                                       : clipped(load<std::uint16_t>(row + x * std::size_t{2}));
    case 32:  // Pillow takes unsigned numbers as signed ones
      return layout_.sample_format == SAMPLEFORMAT_IEEEFP ? clipped(load<float>(row + x * std::size_t{4}))
                                                          : clipped(load<std::int32_t>(row + x * std::size_t{4}));
    default:
      break;
  }
  const std::uint32_t value = bits_at(row, x * step_, layout_.bits) * (255 / ((1u << layout_.bits) - 1));
  return static_cast<std::uint8_t>(layout_.inverted ? 255 - value : value);
}

/// Of 16 bits the upper half.
std::uint8_t TiffRows::byte_of(const TiffPlanes& planes, std::uint32_t x, std::uint32_t number) const {
  const std::uint8_t* const row = layout_.separate ? planes[number] : planes[0];
  const std::size_t at = std::size_t{x} * step_ + (layout_.separate ? 0 : number);
  if (layout_.bits == 8) return row[at];
  return static_cast<std::uint8_t>(load<std::uint16_t>(row + at * 2) >> 8);
}

void TiffRows::convert_color(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const {
  for (std::uint32_t i = 0; i < 3; ++i) pixel[i] = byte_of(planes, x, i);
  if (layout_.pixels == TiffPixels::rgb) return;
  const std::uint32_t fourth = byte_of(planes, x, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (layout_.pixels == TiffPixels::premultiplied) {
      pixel[i] = without_alpha(pixel[i], fourth);
    } else {
      const std::uint32_t light = 255 - fourth;
      pixel[i] = static_cast<std::uint8_t>(light - times(pixel[i], light));
    }
  }
}

void TiffRows::convert(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgb) const {
  if (layout_.pixels == TiffPixels::rgb && layout_.bits == 8 && step_ == 3) {
    std::memcpy(rgb, planes[0], std::size_t{width} * 3);
    return;
  }
  for (std::uint32_t x = 0; x < width; ++x, rgb += 3) convert_pixel(planes, x, rgb);
}

void TiffRows::convert_pixel(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const {
  if (layout_.pixels == TiffPixels::gray) {
    put(pixel, gray(gray_of(planes[0], x)));
  } else if (layout_.pixels == TiffPixels::palette) {
    put(pixel, palette_[bits_at(planes[0], x * step_, layout_.bits)]);
  } else {
    convert_color(planes, x, pixel);
  }
}

void TiffRows::convert_rgba(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgba) const {
  for (std::uint32_t x = 0; x < width; ++x, rgba += 4) {
    convert_pixel(planes, x, rgba);
    rgba[3] = layout_.alpha == 0 ? std::uint8_t{255} : byte_of(planes, x, layout_.alpha);
  }
}

void TiffRows::copy_gray_16(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* out) const {
  if (layout_.bits == 16) {
    std::memcpy(out, planes[0], std::size_t{width} * 2);
    return;
  }
  for (std::uint32_t x = 0; x < width; ++x, out += 2) {
    const auto value = static_cast<std::uint16_t>(twelve_bits_at(planes[0], x));
    std::memcpy(out, &value, sizeof value);
  }
}

}  // namespace bale::image_detail
