// A contact sheet: many small images in a grid, each with its caption. A pure function of its input.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bale/formats/image/image.hpp"

namespace bale {

struct Thumbnail {
  Image image{};          // empty if the sample could not be decoded: a placeholder is drawn
  std::string caption{};  // UTF-8; one line, or two with a newline between them, the second one dimmer
};

/// Square tiles of `tile_px` pixels, `columns` per row (fewer if there are fewer items). Images are cropped to fill
/// their tile; those with one side more than twice as long as the other are shown whole. Captions too long for their
/// tile end in an ellipsis. Throws `invalid_argument` for no items, no columns, tiles below 32 pixels or a sheet above
/// 2^28 pixels.
Image make_contact_sheet(std::span<const Thumbnail> items, std::uint32_t columns, std::uint32_t tile_px);

}  // namespace bale
