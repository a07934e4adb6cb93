// A decoded image: a NumPy array of height x width x 3 bytes. Internal to this folder.
#pragma once

#include <cstddef>

#include "bale/formats/image/image.hpp"

namespace bale::image_detail {

/// Kind `array` with the size of a height x width x 3 array of bytes; for any other array the rest is 0.
ImageHeader probe_array(Bytes bytes);

/// Offset of the pixels of a whole image. Throws `unsupported` for any other array, `damaged` if header and length
/// contradict each other.
std::size_t array_pixels_offset(Bytes bytes);

}  // namespace bale::image_detail
