// The functions of libavif that bale calls, which open it; internal.
#pragma once

#include <avif/avif.h>

#include "bale_lazy_avif.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

#ifdef BALE_LAZY_AVIF
namespace bale::image_detail {

inline constinit LazyLibrary avif_library{BALE_LAZY_AVIF};

// clang-format off
#define BALE_AVIF(name) BALE_LAZY_FUNCTION(avif_library, name)
BALE_AVIF(avifDecoderCreate) BALE_AVIF(avifDecoderDestroy) BALE_AVIF(avifDecoderNextImage) BALE_AVIF(avifDecoderParse)
BALE_AVIF(avifDecoderSetIOMemory) BALE_AVIF(avifImageYUVToRGB) BALE_AVIF(avifRGBImageSetDefaults)
BALE_AVIF(avifResultToString)
#undef BALE_AVIF
// clang-format on

}  // namespace bale::image_detail
#endif
