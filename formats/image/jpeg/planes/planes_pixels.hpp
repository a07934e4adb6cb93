// Decodes a rectangle of a JPEG that is stored as planes, to the pixels that its original has; internal.
#pragma once

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/pixels/region_pixels.hpp"
#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

/// For one thread at a time.
class PlanesPixels {
 public:
  /// Reads what comes before the rows, of which `header` was opened. False if the original must be restored.
  bool open(PlanesHeader& header, const jpeg_decompress_struct& info);
  /// Fills the region's rows, `region.width` * 3 bytes each. The region must be inside the image. Reads only the rows
  /// of MCUs that it needs. False if the original must be restored; `rgb` then has no meaning.
  bool decode(const Region& region, std::uint8_t* rgb);

 private:
  PlanesHeader* header_ = nullptr;
  BaselineFrame frame_;
  ProgressiveScans scans_;
  RegionPixels pixels_;
  PlaneDecoder decoder_;
  AlignedMemory memory_;
};

}  // namespace bale::image_detail
