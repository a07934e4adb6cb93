// An image that is decoded already: a NumPy array of height x width x 3 bytes. Internal to this folder.
#pragma once

#include <cstddef>

#include "bale/formats/image/image.hpp"

namespace bale::image_detail {

/// Kind `array` with the size of a height x width x 3 array of bytes; all else 0 where it is another.
ImageHeader probe_array(Bytes bytes);

/// Where the pixels of a whole image begin. Throws `unsupported` for another array, `damaged` where header and length
/// contradict each other.
std::size_t array_pixels_offset(Bytes bytes);

}  // namespace bale::image_detail
