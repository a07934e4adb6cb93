// The passes in SIMD. Both bring four neighboring taps of a channel into one 32-bit lane (resample_sums-inl.hpp): the
// pass over the rows interleaves four rows, the pass over the columns shuffles the 12 bytes of four pixels.

#include "bale/formats/image/resample/resample_kernels.hpp"

#include <algorithm>
#include <cstring>

#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/resample/resample_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bale/formats/image/simd/avx3_dl-inl.hpp"

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

void across(const PixelView& in, const AxisFilter& filter, const RowsOut& out, ResampleScratch& /*scratch*/) {
  resample_across_plain(in, filter, out);
}
void down(const PixelView& in, const AxisFilter& filter, const RowsOut& out) { resample_down_plain(in, filter, out); }

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else

#include "bale/formats/image/resample/resample_across-inl.hpp"
#include "bale/formats/image/resample/resample_down-inl.hpp"
#include "bale/formats/image/resample/resample_sums-inl.hpp"

#endif

#if HWY_ONCE
namespace bale::image_detail {

HWY_EXPORT(across);
HWY_EXPORT(down);

void resample_across(const PixelView& in, const AxisFilter& filter, const RowsOut& out, ResampleScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(across)(in, filter, out, scratch);
}

void resample_down(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  HWY_DYNAMIC_DISPATCH(down)(in, filter, out);
}

}  // namespace bale::image_detail
#endif
