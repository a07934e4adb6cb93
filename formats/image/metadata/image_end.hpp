// Whether an image's bytes are complete up to its end; internal.
#pragma once

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// Whether the end marker directly follows the entropy-coded data that begins with `scan`. If not, the image may be cut
/// off, and only decoding all of it can tell. Bytes after the end do not matter.
bool jpeg_scan_has_end(Bytes scan);

/// Whether the file's pieces (image_pieces.hpp) continue up to the end marker or IEND.
bool pieces_have_end(Bytes image);

}  // namespace bale::image_detail
