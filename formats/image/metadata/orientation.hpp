// Where a file states the orientation of its picture: EXIF, EXIF as text in a PNG, XMP; internal.
#pragma once

#include <cstddef>
#include <vector>

#include "bale/formats/image/codec/raster.hpp"
#include "bale/formats/image/metadata/image_pieces.hpp"

namespace bale::image_detail {

/// The orientation that Pillow's ImageOps.exif_transpose() applies, 1..8.
int read_orientation(Bytes image, const ImagePieces& pieces);

/// The pixels, `source.channels` bytes each, turned or mirrored by an orientation of 1..8.
void turn_pixels(const Raster& source, int orientation, std::uint8_t* out);

/// Appends a piece of metadata to `out`, without any orientation. Computes a PNG chunk's checksum again.
void append_without_orientation(std::vector<std::byte>& out, Bytes image, const Piece& piece, ImageKind kind);

}  // namespace bale::image_detail
