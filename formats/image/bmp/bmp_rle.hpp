// Run-length coded pixels of a BMP, read as Pillow reads them; internal.
#pragma once

#include "bale/formats/image/bmp/bmp_header.hpp"

namespace bale::image_detail {

/// Fills width * height indices, in the order of the file. Throws `damaged` if the data ends before the last pixel.
void read_bmp_rle(Bytes bytes, const BmpHeader& header, std::uint8_t* indices);

}  // namespace bale::image_detail
