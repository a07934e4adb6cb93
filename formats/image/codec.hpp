// What the codecs of this folder share; internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "bale/formats/core/error.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::image_detail {

/// Decodes a JPEG; with `min_side` above 0 at the smallest of 1/8, 1/4, 1/2, 1 that keeps both sides at
/// least that long.
Image decode_jpeg(Bytes bytes, std::uint64_t max_pixels, std::uint32_t min_side);
Image decode_png(Bytes bytes, std::uint64_t max_pixels);

/// Throws `unsupported` where an image is larger than the caller allows.
void check_pixel_budget(std::uint64_t width, std::uint64_t height, std::uint64_t max_pixels);
/// Throws `invalid_argument` where the pixels are not width * height * 3 bytes, or a side is 0.
void check_pixels(const Image& image);

/// An image of that size, pixels zero.
Image make_image(std::uint32_t width, std::uint32_t height);

}  // namespace bale::image_detail
