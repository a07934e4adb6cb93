// An image decoded at a fraction of its size, for work that needs no detail: hashes, small pictures.
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include <cstdint>

#include "bale/formats/image/image.hpp"

namespace bale {

struct ReducedImage {
  Image image{};
  /// Width and height of the decoded image in pixels of `image`. Scaled sides are rounded up, so these are up to one
  /// smaller.
  double width = 0;
  double height = 0;
  std::uint32_t full_width = 0;  // in pixels, before the reduction
  std::uint32_t full_height = 0;
  bool has_defects = false;  // of a JPEG: corrupt data that decoders tolerate
};

/// Decodes a JPEG at 1/8, 1/4 or 1/2 of its size, the smallest whose sides are at least `min_side` if the image's are:
/// at 1/8 by the mean value of each block alone. Decodes other kinds as decode_image() does. Throws what decode_image()
/// throws.
ReducedImage decode_reduced(Bytes bytes, std::uint32_t min_side, std::uint64_t max_pixels = k_default_max_pixels);

}  // namespace bale
