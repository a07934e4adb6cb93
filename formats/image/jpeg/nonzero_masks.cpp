// In SIMD, with the targets of resample_kernels.cpp: a test's choice of target applies to both.
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#include "bale/formats/image/jpeg/nonzero_masks.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/jpeg/nonzero_masks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void masks_of(const std::int16_t* blocks, std::size_t count, std::uint64_t* masks) {
  const hn::ScalableTag<std::int16_t> d;
  constexpr std::size_t k_lanes = hn::MaxLanes(d);
  static_assert(64 % k_lanes == 0);
  for (std::size_t n = 0; n < count; ++n) {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < 64; i += k_lanes) {
      const auto values = hn::LoadU(d, blocks + n * 64 + i);
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(d, hn::Ne(values, hn::Zero(d)), bits);
      std::uint64_t part;
      std::memcpy(&part, bits, sizeof(part));
      mask |= part << i;
    }
    masks[n] = mask;
  }
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale::image_detail {

HWY_EXPORT(masks_of);

void nonzero_masks(const std::int16_t* blocks, std::size_t count, std::uint64_t* masks) {
  HWY_DYNAMIC_DISPATCH(masks_of)(blocks, count, masks);
}

}  // namespace bale::image_detail
#endif
