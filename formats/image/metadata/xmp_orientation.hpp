// The orientation in an XMP packet (tiff:Orientation); internal.
#pragma once

#include <string>
#include <string_view>

namespace bale::image_detail {

/// The first orientation that the packet states, as Pillow finds it: 1..8, 1 if there is none.
int read_xmp_orientation(std::string_view packet);

/// Overwrites every orientation in the packet with spaces. The length does not change.
void drop_xmp_orientation(std::string& packet);

}  // namespace bale::image_detail
