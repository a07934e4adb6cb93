// Shared by the codecs; internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

/// The memory that a decoder fills for a region: `rows` rows of `stride` bytes. The region's first pixel is `offset`
/// bytes from the start. Codecs work in blocks and rows, so the memory may be larger than the region.
struct RegionLayout {
  std::size_t stride = 0;
  std::size_t rows = 0;
  std::size_t offset = 0;
};

/// The kind of the bytes, one that bale decodes. Throws `unsupported` for other kinds and for a PNG above the limit
/// (before libpng reads it), `damaged` if `bytes` is empty.
ImageKind decodable_kind(Bytes bytes, std::uint64_t max_pixels);
/// Throws `invalid_argument` if the pixels are not width * height * 3 bytes, or a side is 0.
void check_pixels(const Image& image);

/// An image of that size with zero pixels.
Image make_image(std::uint32_t width, std::uint32_t height);

/// For libraries that say what is wrong in text only. Throws std::bad_alloc if the library lacked memory, `unsupported`
/// if it met something that it does not know or was built without, else `damaged`: "KIND: TEXT".
[[noreturn]] void fail_as_library_says(std::string_view kind, std::string_view text);

// A decoded image: a NumPy array of height x width x 3 bytes.

/// Kind `array` with the size of a height x width x 3 array of bytes; for any other array the rest is 0.
ImageHeader probe_array(Bytes bytes);

/// Offset of the pixels of a whole image. Throws `unsupported` for any other array, `damaged` if header and length
/// contradict each other.
std::size_t array_pixels_offset(Bytes bytes);

}  // namespace bale::image_detail
