// ProgressiveDecoder: decodes a rectangle of a progressive Huffman JPEG to libjpeg-turbo's pixels, but faster;
// internal.
//
// It reads 8-bit JPEGs, gray or YCbCr at 4:4:4, 4:2:2, 4:2:0 or 4:4:0, whose scans give all bits of the coefficients
// that libjpeg would estimate. It leaves all others to libjpeg, and images that look damaged in what it reads: the
// caller then gets libjpeg's pixels, warnings and errors. Each scan is read down to the last row that is needed; all
// scans are found, and the end of the image. For one thread at a time.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/decode/progressive_entropy.hpp"
#include "bale/formats/image/jpeg/decode/progressive_scans.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/pixels/region_pixels.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

/// For tests: the number of images that it decoded in this process.
std::uint64_t progressive_count();

class ProgressiveDecoder {
 public:
  /// Fills the region's rows, `region.width` * 3 bytes each. False if libjpeg must decode it; `rgb` then has no
  /// meaning. The header of `info` must have been read; it is not changed. The region must be inside the image.
  bool decode(const jpeg_decompress_struct& info, const Region& region, std::uint8_t* rgb);

 private:
  void allocate();
  bool decode_scans(const jpeg_decompress_struct& info);
  bool make_pixels(std::uint8_t* rgb);

  BaselineFrame frame_;
  RegionPixels pixels_;
  ProgressiveScans scans_;
  ProgressiveEntropy entropy_;
  std::array<BlockPlane, 3> planes_;
  AlignedMemory memory_;
};

}  // namespace bale::image_detail
