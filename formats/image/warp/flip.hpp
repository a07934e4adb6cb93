// Flips and quarter turns. Internal.
//
// Threads: pure functions. `out` does not overlap the source.
#pragma once

#include "bale/formats/image/codec/raster.hpp"

namespace bale::image_detail {

void flip_across(const Raster& source, std::uint8_t* out);
/// In place.
void flip_down(std::uint8_t* pixels, std::size_t stride, std::uint32_t height);
void rotate_180(const Raster& source, std::uint8_t* out);
/// Counterclockwise by 90 and by 270 degrees; `out` has the source's height as its width.
void rotate_90(const Raster& source, std::uint8_t* out);
void rotate_270(const Raster& source, std::uint8_t* out);

}  // namespace bale::image_detail
