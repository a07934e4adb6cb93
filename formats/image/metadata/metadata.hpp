// Metadata of JPEGs and PNGs (EXIF, XMP, color profiles, comments, thumbnails): read the orientation, strip the
// metadata, or copy them to an image that was made from another.
//
// Metadata are a JPEG's comments and its APPn segments, except those of JFIF and Adobe, which say how the pixels are
// coded; and a PNG's texts, times, EXIF and color profiles.
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "bale/formats/image/image.hpp"

namespace bale {

/// The orientation, 1..8, that Pillow's ImageOps.exif_transpose() applies: from EXIF, in a PNG also from the text "Raw
/// profile type exif" that ImageMagick writes, else from XMP; of an AVIF from its boxes irot and imir. 1 (upright) if
/// there is none, if it cannot be read, and of kinds whose decoder applies it (TIFF, JPEG XL). Throws only
/// `std::bad_alloc`.
int exif_orientation(Bytes image);

/// The image turned or mirrored by an EXIF orientation, as Pillow's ImageOps.exif_transpose() does. Returns it
/// unchanged if `orientation` is not 2..8.
Image apply_orientation(Image image, int orientation);

/// The image without metadata, private chunks, bytes outside of segments, and bytes after its end. Returns nothing if
/// it has none of these or is neither JPEG nor PNG. The result was decoded and its pixels compared. Throws `damaged` or
/// `unsupported` if the image cannot be decoded or parsed, or would change.
std::vector<std::byte> strip_metadata(Bytes image, std::uint64_t max_pixels = k_default_max_pixels);

/// Returns `image`, which encode_jpeg() or encode_png() made, with the metadata of `original`. Returns it unchanged if
/// the two are of different kinds. The color profile is copied only if both have the same number of channels. If
/// `oriented`, which says that the orientation of `original` was applied to the pixels, it is removed from the
/// metadata. Throws `unsupported` if it cannot be removed, and `damaged`.
std::vector<std::byte> with_metadata_of(Bytes original, bool oriented, std::vector<std::byte> image);

}  // namespace bale
