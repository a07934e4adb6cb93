// Region and PixelView: a rectangle of an image, and borrowed pixels; and how warps and borders take pixels.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

/// A rectangle of pixels, (0, 0) at the top left.
struct Region {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  friend bool operator==(const Region&, const Region&) = default;
};

/// Pixels, 8-bit RGB unless something else was asked for: `height` rows of `width` pixels, whose starts are `stride`
/// bytes apart. Borrows its memory: the function that returns one says how long it lives.
struct PixelView {
  const std::uint8_t* rgb = nullptr;
  std::size_t stride = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t pixel_bytes = 3;  // see mode_bytes()
};

/// How a warp takes a pixel from its source: Pillow's Image.transform.
enum class Sampling : std::uint8_t { nearest, bilinear, bicubic };

/// What a border consists of: torchvision's pad.
enum class PadMode : std::uint8_t { constant, edge, reflect, symmetric };

}  // namespace bale
