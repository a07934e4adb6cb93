// The segments of a baseline JPEG before its scan, as libjpeg writes them; internal.
#pragma once

#include <cstddef>
#include <vector>

#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"
#include "bale/formats/image/jpeg/transcode/baseline_encoder.hpp"

namespace bale::image_detail {

/// The number of the Huffman tables of a component.
inline std::size_t codes_of_component(std::size_t component) { return component == 0 ? 0 : 1; }

/// Appends the start of an image, the kept markers of `info`, its quantization tables, a frame header, the Huffman
/// tables of `encoder` and the header of a scan of all components. The header of `info` must have been read, and its
/// image must be gray or have three components.
void append_segments(const jpeg_decompress_struct& info, const BaselineEncoder& encoder, std::vector<std::byte>& out);

}  // namespace bale::image_detail
