// The two passes of a resize over 8-bit pixels, in Pillow's arithmetic: sums of products in 22-bit fixed point, each
// pass rounded to 8 bits. In SIMD chosen at run time, and in plain C++ as the reference that every other version must
// equal. Internal.
//
// Final sums fit in 32 bits, so partial sums are taken modulo 2^32, in the parts that a CPU multiplies fastest. No
// shared state.
#pragma once

#include <cstdint>

#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resample_filter.hpp"
#include "bale/formats/image/resample/resample_scratch.hpp"

namespace bale::image_detail {

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
