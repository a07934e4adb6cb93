// Where a file states the orientation of its picture: EXIF, EXIF as text in a PNG, XMP; internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/codec/raster.hpp"
#include "bale/formats/image/metadata/image_pieces.hpp"

namespace bale::image_detail {

/// The orientation that Pillow's ImageOps.exif_transpose() applies, 1..8.
int read_orientation(Bytes image, const ImagePieces& pieces);

/// The pixels, `source.channels` bytes each, turned or mirrored by an orientation of 1..8.
void turn_pixels(const Raster& source, int orientation, std::uint8_t* out);

/// Appends a piece of metadata to `out`, without any orientation. Computes a PNG chunk's checksum again.
void append_without_orientation(std::vector<std::byte>& out, Bytes image, const Piece& piece, ImageKind kind);

/// The orientation that the first directory states, by any type of number: 1..8, or 1 if the value is invalid. Also 1
/// if the structure cannot be read, since Pillow then looks nowhere else. nullopt if it states none.
std::optional<int> read_exif_orientation(Bytes exif);

/// Removes all orientations from the first directory. The length does not change, and the bytes after the directory
/// stay in place: offsets refer to them. If the directory is incomplete, sets its orientations to 1 instead.
void drop_exif_orientation(MutableBytes exif);

/// In an XMP packet (tiff:Orientation): the first orientation that the packet states, as Pillow finds it: 1..8, 1 if
/// there is none.
int read_xmp_orientation(std::string_view packet);

/// Overwrites every orientation in the packet with spaces. The length does not change.
void drop_xmp_orientation(std::string& packet);

/// The orientation of a TIFF, which Pillow applies to it.
/// 1..8: as the first directory says, else its XMP. 1 for a BigTIFF, whose directory has another form.
int tiff_orientation(Bytes tiff);

}  // namespace bale::image_detail
