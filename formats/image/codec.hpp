// What the codecs of this folder share; internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

/// Memory that a decoder fills to give a region: `rows` rows of `stride` bytes, of which the region's first pixel
/// is `offset` bytes from the start. Codecs work in blocks and rows, so it may be larger than the region.
struct RegionLayout {
  std::size_t stride = 0;
  std::size_t rows = 0;
  std::size_t offset = 0;
};

/// The kind of the bytes, one of those we decode; throws `unsupported` for others and for a PNG above the limit (libpng
/// is asked after that), `damaged` where there is nothing.
ImageKind decodable_kind(Bytes bytes, std::uint64_t max_pixels);
/// Throws `invalid_argument` where the pixels are not width * height * 3 bytes, or a side is 0.
void check_pixels(const Image& image);

/// An image of that size, pixels zero.
Image make_image(std::uint32_t width, std::uint32_t height);

}  // namespace bale::image_detail
