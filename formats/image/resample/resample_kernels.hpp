// The two passes of a resize over 8-bit RGB, in Pillow's arithmetic: sums of products in 22-bit fixed point, each
// pass rounded to 8 bits. In SIMD chosen at run time, and in plain C++ as the reference that every other must
// equal. Internal.
//
// Sums never overflow 32 bits in the end, so they are taken modulo 2^32, in whatever parts a CPU multiplies best.
// Free of shared state, except for use_resample_target().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resample_filter.hpp"
#include "bale/formats/image/resample/resample_scratch.hpp"

namespace bale::image_detail {

/// Rows of RGB to write, `stride` bytes apart; what lies between them is left alone.
struct RowsOut {
  std::uint8_t* rgb = nullptr;
  std::size_t stride = 0;
};

/// The columns of `in`, which starts at the filter's needs, turned into those of the filter.
void resample_across(const PixelView& in, const AxisFilter& filter, const RowsOut& out, ResampleScratch& scratch);
/// The rows of `in`, which starts at the filter's needs, turned into those of the filter.
void resample_down(const PixelView& in, const AxisFilter& filter, const RowsOut& out);

void resample_across_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out);
void resample_down_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out);

/// For tests: the instruction sets that this build knows and this CPU has, best first, and the choice of one of them
/// for the whole process; an empty name gives the choice back to the CPU.
std::vector<std::string> resample_targets();
void use_resample_target(const std::string& name);

}  // namespace bale::image_detail
