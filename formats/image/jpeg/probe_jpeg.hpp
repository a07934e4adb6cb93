// The marker walk of a JPEG: internal to this folder.
#pragma once

#include "bale/formats/image/byte_reader.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::image_detail {

/// Header of bytes that open with SOI (FF D8); sizes stay 0 where no frame header comes before the first scan.
ImageHeader probe_jpeg(const ByteReader& in);

}  // namespace bale::image_detail
