// PixelMode: what the pixels of a decoded image are, by the names that Pillow uses.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bale {

/// The pixels are those of Pillow's `Image.open(f).convert(mode)`.
enum class PixelMode : std::uint8_t {
  rgb,      // "RGB": three bytes
  gray,     // "L": one byte
  rgba,     // "RGBA": four bytes; alpha 255 if the image has none
  gray_16,  // "I;16": one std::uint16_t; only of images of 16-bit gray
};

/// Pillow's name. A literal.
constexpr std::string_view pixel_mode_name(PixelMode mode) {
  switch (mode) {
    case PixelMode::rgb:
      return "RGB";
    case PixelMode::gray:
      return "L";
    case PixelMode::rgba:
      return "RGBA";
    case PixelMode::gray_16:
      return "I;16";
  }
  return {};
}

/// Values of a pixel.
constexpr std::uint32_t mode_channels(PixelMode mode) {
  if (mode == PixelMode::rgb) return 3;
  return mode == PixelMode::rgba ? 4 : 1;
}

/// Bytes of a pixel.
constexpr std::uint32_t mode_bytes(PixelMode mode) { return mode == PixelMode::gray_16 ? 2 : mode_channels(mode); }

}  // namespace bale
