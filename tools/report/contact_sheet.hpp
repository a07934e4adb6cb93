// A contact sheet: many small images in a grid, each with its caption. A pure function of its input.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bale/formats/image/image.hpp"

namespace bale {

struct Thumbnail {
  Image image{};          // empty where the sample could not be decoded: a placeholder stands in for it
  std::string caption{};  // UTF-8; a first line, and after a newline a dimmer second one
};

/// Square tiles of `tile_px`, `columns` in a row (fewer where there are fewer items). Images fill their tile
/// and lose what hangs over; those more than twice as long as wide are shown whole. Captions too long for
/// their tile end in an ellipsis. Throws `invalid_argument` for no items, no columns, tiles below 32 pixels
/// or a sheet above 2^28 pixels.
Image make_contact_sheet(std::span<const Thumbnail> items, std::uint32_t columns, std::uint32_t tile_px);

}  // namespace bale
