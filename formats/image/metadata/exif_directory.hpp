// The orientation in EXIF's TIFF structure: reading it as Pillow does, and taking it out; internal.
#pragma once

#include <optional>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// The orientation that the first directory states, by any type of number: 1..8, or 1 if it states one that makes no
/// sense. Also 1 if the structure cannot be read, since Pillow then looks in no other place. Nothing if it states none.
std::optional<int> read_exif_orientation(Bytes exif);

/// Takes all orientations out of the first directory. The length stays, and what follows the directory stays in its
/// place: offsets refer to it. If the directory has no room to be closed up, its orientations say 1.
void drop_exif_orientation(MutableBytes exif);

}  // namespace bale::image_detail
