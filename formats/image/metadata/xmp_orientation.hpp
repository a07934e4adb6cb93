// The orientation in an XMP packet (tiff:Orientation); internal.
#pragma once

#include <string>
#include <string_view>

namespace bale::image_detail {

/// The first one that the packet states, as Pillow finds it: 1..8, 1 if there is none.
int read_xmp_orientation(std::string_view packet);

/// Writes spaces over every orientation in the packet. Its length stays.
void drop_xmp_orientation(std::string& packet);

}  // namespace bale::image_detail
