// The two passes of a resize over 8-bit pixels, in Pillow's arithmetic: sums of products in 22-bit fixed point, each
// pass rounded to 8 bits. In SIMD chosen at run time, and in plain C++ as the reference that every other version must
// equal. Internal.
//
// Final sums fit in 32 bits, so partial sums are taken modulo 2^32, in the parts that a CPU multiplies fastest. No
// shared state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resample_filter.hpp"

namespace bale::image_detail {

/// Memory of the passes, reused from image to image.
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

/// Rows of pixels to write, `stride` bytes apart. The bytes between them are not changed.
struct RowsOut {
  std::uint8_t* rgb = nullptr;
  std::size_t stride = 0;
};

/// Resizes the columns of `in`, which starts at axis_needs() and is RGB, to those of the filter.
void resample_across(const PixelView& in, const AxisFilter& filter, const RowsOut& out, ResampleScratch& scratch);
/// Resizes the rows of `in`, which starts at axis_needs(), to those of the filter.
void resample_down(const PixelView& in, const AxisFilter& filter, const RowsOut& out);

/// resample_across() for pixels of 1 or 4 bytes, which are channels of their own. resample_down() takes them too.
void resample_across_any(const PixelView& in, const AxisFilter& filter, const RowsOut& out, ResampleScratch& scratch);
/// Both passes for std::uint16_t, in sums of doubles; the filter must have its exact weights.
void resample_across_16(const PixelView& in, const AxisFilter& filter, const RowsOut& out);
void resample_down_16(const PixelView& in, const AxisFilter& filter, const RowsOut& out);

void resample_across_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out);
void resample_down_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out);

}  // namespace bale::image_detail
