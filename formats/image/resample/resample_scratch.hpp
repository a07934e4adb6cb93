// Memory of the resize passes, reused from image to image, and source rows that are safe to read past. Internal.
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

/// Room for a pass over the columns: one offset per pixel, and four parts of four lanes (one line) per pixel and quad.
void reserve_table(std::size_t num_pixels, std::size_t num_quads, ResampleScratch& scratch);

/// The rows of a view: the first `num_direct` can be read in place, the others are in a copy.
struct RowSplit {
  std::uint32_t num_direct = 0;
  const std::uint8_t* copied = nullptr;
  std::size_t copied_stride = 0;
};

/// Copies those rows of `in` that have fewer than `reach` bytes from their start to the end of its memory.
RowSplit split_rows(const PixelView& in, std::size_t reach, ResampleScratch& scratch);

}  // namespace bale::image_detail
