// Whether an image's bytes go on to its end; internal.
#pragma once

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// Whether the entropy-coded data that begins with `scan` is followed by the end marker at once. If it is not, the
/// image may be cut off, and only decoding all of it can tell. What follows the end does not matter.
bool jpeg_scan_has_end(Bytes scan);

/// Whether the file's pieces (image_pieces.hpp) follow each other up to the end marker or IEND.
bool pieces_have_end(Bytes image);

}  // namespace bale::image_detail
