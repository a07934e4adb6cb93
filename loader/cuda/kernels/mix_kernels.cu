// Kernels that convert and mix images: bale_mix_TYPE_LAYOUT_PIXELS. In a file of their own, because the driver takes
// time to compile them when they are first loaded.
#include "bale/loader/cuda/kernels/kernel_entry.hpp"

#define BALE_MIX_KERNEL(name, pixels, planar, type)                                              \
  BALE_KERNEL name(const ConvertArgs args) {                                                     \
    BALE_SHARED float table[3 * 256];                                                            \
    with_table<pixels>(args, table, [&](std::uint32_t image, std::uint32_t x, std::uint32_t y) { \
      mix_pixels<pixels, planar, MixedType::type>(args, table, image, x, y);                     \
    });                                                                                          \
  }

BALE_MIX_KERNEL(bale_mix_float16_nhwc_4, 4, false, float16)
BALE_MIX_KERNEL(bale_mix_float16_nhwc_1, 1, false, float16)
BALE_MIX_KERNEL(bale_mix_float16_nchw_4, 4, true, float16)
BALE_MIX_KERNEL(bale_mix_float16_nchw_1, 1, true, float16)
BALE_MIX_KERNEL(bale_mix_bfloat16_nhwc_4, 4, false, bfloat16)
BALE_MIX_KERNEL(bale_mix_bfloat16_nhwc_1, 1, false, bfloat16)
BALE_MIX_KERNEL(bale_mix_bfloat16_nchw_4, 4, true, bfloat16)
BALE_MIX_KERNEL(bale_mix_bfloat16_nchw_1, 1, true, bfloat16)
BALE_MIX_KERNEL(bale_mix_float32_nhwc_4, 4, false, float32)
BALE_MIX_KERNEL(bale_mix_float32_nhwc_1, 1, false, float32)
BALE_MIX_KERNEL(bale_mix_float32_nchw_4, 4, true, float32)
BALE_MIX_KERNEL(bale_mix_float32_nchw_1, 1, true, float32)
