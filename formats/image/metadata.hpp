// What a JPEG or PNG holds beside its pixels (EXIF, XMP, colour profiles, comments, thumbnails): reading the EXIF
// orientation, dropping all of it, and taking it over into an image that was made from another. Pixels are never
// touched.
//
// Metadata are a JPEG's APPn segments but JFIF's and Adobe's, which say how the pixels are coded, and its comments; a
// PNG's texts, times, EXIF and colour profiles. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "bale/formats/image/image.hpp"

namespace bale {

/// EXIF's way up, 1..8; 1 (as it is) where the image does not say. Never throws: metadata that make no sense say
/// nothing.
int exif_orientation(Bytes image);

/// The image that EXIF's `orientation` (1..8) means, as Pillow's ImageOps.exif_transpose() gives it.
Image apply_orientation(Image image, int orientation);

/// The image without metadata and without what comes behind its end, or nothing where it has neither, and for other
/// kinds. Throws `damaged` where a JPEG's segments or a PNG's chunks cannot be followed.
std::vector<std::byte> strip_metadata(Bytes image);

/// `image`, fresh from our encoder, with the metadata of `original` where both are of one kind: without the colour
/// profile of an original that is not RGB or grey as `image` is, and without the orientation where it was applied.
std::vector<std::byte> with_metadata_of(Bytes original, bool oriented, std::vector<std::byte> image);

}  // namespace bale
