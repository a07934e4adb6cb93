// Lossless transcoding of JPEGs to the form that decodes fastest (as `jpegtran -optimize` does).
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include <vector>

#include "bale/formats/image/image.hpp"

namespace bale {

/// Writes the same coefficients as a baseline JPEG of one scan, without restart markers, with optimized Huffman tables.
/// A progressive JPEG then decodes in half the time; others shrink a little. Quantization tables, comments and all
/// application data (EXIF, ICC, Adobe) stay. The result was decoded and compared: every pixel is the same.
///
/// Returns nothing if the image should stay as it is: it is not a JPEG of 8 bits with Huffman codes; it has four
/// components; it has a defect, or bytes after its end; it has this form already and would not shrink; it would grow by
/// more than a fourth; its pixels would change; or it has more than `max_pixels`. Throws only `std::bad_alloc`.
std::vector<std::byte> make_jpeg_lossless(Bytes image, std::uint64_t max_pixels = k_default_max_pixels);

}  // namespace bale
