// Pixels of a PNM as text; internal.
#pragma once

#include "bale/formats/image/pnm/pnm_header.hpp"

namespace bale::image_detail {

/// Fills width * height * 3 bytes. Throws `damaged`.
void read_pnm_text(Bytes text, const PnmHeader& header, std::uint8_t* rgb);

}  // namespace bale::image_detail
