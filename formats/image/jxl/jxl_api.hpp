// The functions of libjxl that bale calls, which open it; internal.
#pragma once

#include <jxl/decode.h>

#include "bale_lazy_jxl.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

#ifdef BALE_LAZY_JXL
namespace bale::image_detail {

inline constinit LazyLibrary jxl_library{BALE_LAZY_JXL};

// clang-format off
#define BALE_JXL(name) BALE_LAZY_FUNCTION(jxl_library, name)
BALE_JXL(JxlDecoderCloseInput) BALE_JXL(JxlDecoderCreate) BALE_JXL(JxlDecoderDestroy) BALE_JXL(JxlDecoderGetBasicInfo)
BALE_JXL(JxlDecoderImageOutBufferSize) BALE_JXL(JxlDecoderProcessInput) BALE_JXL(JxlDecoderSetImageOutBuffer)
BALE_JXL(JxlDecoderSetInput) BALE_JXL(JxlDecoderSetPreferredColorProfile) BALE_JXL(JxlDecoderSubscribeEvents)
#undef BALE_JXL
// clang-format on

}  // namespace bale::image_detail
#endif
