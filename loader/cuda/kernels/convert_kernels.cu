// Kernels that convert images without mixing them: bale_convert_BITS_LAYOUT_PIXELS.
#include "bale/loader/cuda/kernels/kernel_entry.hpp"

#define BALE_CONVERT_KERNEL(name, pixels, planar, Value)                                         \
  BALE_KERNEL name(const ConvertArgs args) {                                                     \
    BALE_SHARED Value table[3 * 256];                                                            \
    with_table<pixels>(args, table, [&](std::uint32_t image, std::uint32_t x, std::uint32_t y) { \
      convert_pixels<pixels, planar>(args, static_cast<const Value*>(table), image, x, y);       \
    });                                                                                          \
  }

BALE_CONVERT_KERNEL(bale_convert_16_nhwc_4, 4, false, std::uint16_t)
BALE_CONVERT_KERNEL(bale_convert_16_nhwc_1, 1, false, std::uint16_t)
BALE_CONVERT_KERNEL(bale_convert_16_nchw_4, 4, true, std::uint16_t)
BALE_CONVERT_KERNEL(bale_convert_16_nchw_1, 1, true, std::uint16_t)
BALE_CONVERT_KERNEL(bale_convert_32_nhwc_4, 4, false, std::uint32_t)
BALE_CONVERT_KERNEL(bale_convert_32_nhwc_1, 1, false, std::uint32_t)
BALE_CONVERT_KERNEL(bale_convert_32_nchw_4, 4, true, std::uint32_t)
BALE_CONVERT_KERNEL(bale_convert_32_nchw_1, 1, true, std::uint32_t)
