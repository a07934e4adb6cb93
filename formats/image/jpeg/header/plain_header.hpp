// Where the scan of an ordinary JPEG begins, without libjpeg: that takes most of the time of a check of a small image;
// internal.
#pragma once

#include <optional>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// What JpegDecoder::scan() is of a sequential 8-bit Huffman JPEG whose first scan has all components, if libjpeg reads
/// its header without an error in every version. nullopt for all others: ask libjpeg. It may be another nullopt of an
/// image that libjpeg reads, never a scan of one that it refuses.
std::optional<Bytes> plain_jpeg_scan(Bytes image);

}  // namespace bale::image_detail
