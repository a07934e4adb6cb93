// The values of a PNG with one value per pixel, as they are stored: palette indices and 16-bit values too. Internal.
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/png/mask.hpp"

namespace bale::image_detail {

/// Throws as decode_mask() does.
Mask decode_png_mask(Bytes bytes, std::uint64_t max_pixels);

}  // namespace bale::image_detail
