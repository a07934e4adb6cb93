// The orientation of a TIFF, which Pillow applies to it; internal.
#pragma once

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// 1..8: as the first directory says, else its XMP. 1 for a BigTIFF, whose directory has another form.
int tiff_orientation(Bytes tiff);

}  // namespace bale::image_detail
