// The orientation in EXIF's TIFF structure: reads it as Pillow does, and removes it; internal.
#pragma once

#include <optional>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// The orientation that the first directory states, by any type of number: 1..8, or 1 if the value is invalid. Also 1
/// if the structure cannot be read, since Pillow then looks nowhere else. nullopt if it states none.
std::optional<int> read_exif_orientation(Bytes exif);

/// Removes all orientations from the first directory. The length does not change, and the bytes after the directory
/// stay in place: offsets refer to them. If the directory is incomplete, sets its orientations to 1 instead.
void drop_exif_orientation(MutableBytes exif);

}  // namespace bale::image_detail
