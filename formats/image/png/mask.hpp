// Mask: one whole number per pixel, such as the class of a pixel. It is decoded without colors: a palette's indices
// stay indices.
//
// Threads: plain values and pure functions; may be called from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

struct Mask {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint16_t> values{};  // height x width
};

/// Decodes a PNG of one channel or an array (.npy, height x width) of booleans or of whole numbers within [0, 65535].
/// Values are those of numpy.asarray(PIL.Image.open(file)): palette indices and 16-bit values as stored, gray of 2 and
/// 4 bits spread over 0 to 255, and 0 and 1 for one bit. Throws `damaged`, and `unsupported` for other kinds, more
/// channels, other numbers, and before it allocates if width * height exceeds `max_pixels`.
Mask decode_mask(Bytes bytes, std::uint64_t max_pixels);

}  // namespace bale
