// What a JPEG or PNG holds beside its pixels (EXIF, XMP, colour profiles, comments, thumbnails): reading the EXIF
// orientation, dropping all of it, and taking it over into an image that was made from another. Pixels are never
// touched.
//
// Metadata are a JPEG's comments and its APPn segments except those of JFIF and Adobe, which say how the pixels are
// coded; a PNG's texts, times, EXIF and color profiles. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "bale/formats/image/image.hpp"

namespace bale {

/// The orientation that Pillow's ImageOps.exif_transpose() applies, 1..8: EXIF's, in a PNG also as ImageMagick writes
/// it (text "Raw profile type exif"), else XMP's. 1 (as it is) if the image states none. Never throws: metadata that
/// make no sense say nothing.
int exif_orientation(Bytes image);

/// The image that EXIF's `orientation` (1..8) means, as Pillow's ImageOps.exif_transpose() gives it.
Image apply_orientation(Image image, int orientation);

/// The image without metadata, without private chunks, without bytes that belong to no segment, and without what
/// follows its end; nothing if it has none of these, and for other kinds. The result has been decoded and its pixels
/// compared. Throws `damaged` or `unsupported` if the image cannot be decoded or its segments or chunks cannot be
/// followed.
std::vector<std::byte> strip_metadata(Bytes image, std::uint64_t max_pixels = k_default_max_pixels);

/// `image`, fresh from our encoder, with the metadata of `original` if both are of one kind: without the color profile
/// of an original that is not RGB or grayscale as `image` is, and without any orientation if it was applied. Throws
/// `unsupported` if the orientation cannot be taken out.
std::vector<std::byte> with_metadata_of(Bytes original, bool oriented, std::vector<std::byte> image);

}  // namespace bale
