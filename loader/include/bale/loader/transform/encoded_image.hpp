// EncodedImage: of a row whose image a device decodes: what it does with the pixels.
#pragma once

#include <cstdint>

#include "bale/formats/image/resample/resizer.hpp"

namespace bale {

/// The device decodes the whole JPEG, and resizes the part of resize.source_width x resize.source_height pixels at
/// (left, top). Plain data: rows of the ring hold it.
struct EncodedImage {
  std::uint64_t bytes = 0;  // of the JPEG, at the row's place; 0: the row has pixels
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  ResizeSpec resize{};
};

}  // namespace bale
