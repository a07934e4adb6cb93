// The kernels in SIMD. Disabled are those targets that kernel_targets.hpp disables, and all better than AVX2 but AVX3
// and AVX3_DL (better targets have lower bits). AVX3_DL has vectors of 64 bytes; AVX3 has vectors of 32 bytes here, but
// twice the registers of AVX2.
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS \
  (((HWY_AVX2 - 1) & ~(HWY_AVX3 | HWY_AVX3_DL)) | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define BALE_NARROW_TARGET HWY_AVX3

#include "bale/formats/image/jpeg/pixels/baseline_kernels.hpp"

#include "bale/formats/image/jpeg/pixels/baseline_constants.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/jpeg/pixels/baseline_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

const BaselineKernels& kernels() { return baseline_kernels_plain(); }

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else

#include "bale/formats/image/jpeg/pixels/baseline_dct-inl.hpp"
#include "bale/formats/image/jpeg/pixels/baseline_pixels-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

const BaselineKernels& kernels() {
  static constexpr BaselineKernels k_kernels = {.group_shift = k_group_shift,
                                                .inverse_dct = inverse_dct,
                                                .upsample_across = upsample_across,
                                                .upsample_both = upsample_both,
                                                .upsample_down = upsample_down,
                                                .to_rgb = to_rgb,
                                                .gray_to_rgb = gray_to_rgb};
  return k_kernels;
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace bale::image_detail {

HWY_EXPORT(kernels);

const BaselineKernels& widest_baseline_kernels() { return HWY_DYNAMIC_DISPATCH(kernels)(); }

const BaselineKernels& baseline_kernels() {
  const BaselineKernels& widest = widest_baseline_kernels();
#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX3) != 0
  constexpr std::uint32_t k_wide_group_shift = 2;
  if (widest.group_shift == k_wide_group_shift && !use_wide_units()) return N_AVX3::kernels();
#endif
  return widest;
}

}  // namespace bale::image_detail
#endif
