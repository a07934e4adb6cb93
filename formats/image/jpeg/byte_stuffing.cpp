// In SIMD, with the targets of resample_kernels.cpp: a test's choice of target applies to both.
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#include "bale/formats/image/jpeg/byte_stuffing.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/jpeg/byte_stuffing.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR UnstuffedTo remove_stuffing_here(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to) {
  const hn::ScalableTag<std::uint8_t> d;
  static_assert(hn::MaxLanes(d) <= k_unstuffing_padding);
  const std::ptrdiff_t lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  const auto stuffed = hn::Set(d, 0xFF);
  while (end - from > lanes) {
    const auto bytes = hn::LoadU(d, from);
    hn::StoreU(bytes, d, to);
    const std::ptrdiff_t found = hn::FindFirstTrue(d, hn::Eq(bytes, stuffed));
    if (found < 0) {
      from += lanes;
      to += lanes;
    } else if (from[found + 1] == 0) {
      from += found + 2;
      to += found + 1;
    } else {
      return {from + found, to + found};
    }
  }
  return {from, to};
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale::image_detail {

HWY_EXPORT(remove_stuffing_here);

UnstuffedTo remove_stuffing(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to) {
  return HWY_DYNAMIC_DISPATCH(remove_stuffing_here)(from, end, to);
}

}  // namespace bale::image_detail
#endif
