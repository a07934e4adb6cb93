// Memory of the passes of a resize, reused from image to image; and source rows made safe to read past. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

struct ResampleScratch {
  struct alignas(64) Line {
    std::uint8_t bytes[64];
  };
  std::vector<Line> table;
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint8_t> rows;
};

/// Room for a pass over the columns: an offset a pixel, and four parts of four lanes (a line) a pixel and quad of taps.
void reserve_table(std::size_t num_pixels, std::size_t num_quads, ResampleScratch& scratch);

/// The rows of a view, of which `num_direct` can be read where they are, the others in a copy.
struct RowSplit {
  std::uint32_t num_direct = 0;
  const std::uint8_t* copied = nullptr;
  std::size_t copied_stride = 0;
};

/// Copies those rows of `in` that end too close to the end of its memory for `reach` bytes to be read from their start.
RowSplit split_rows(const PixelView& in, std::size_t reach, ResampleScratch& scratch);

}  // namespace bale::image_detail
