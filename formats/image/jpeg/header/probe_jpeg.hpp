// Reads a JPEG's header by its markers; internal.
#pragma once

#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::image_detail {

/// The header of bytes that begin with SOI (FF D8). Sizes are 0 if no frame header comes before the first scan.
ImageHeader probe_jpeg(const ByteReader& in);

}  // namespace bale::image_detail
