// WebP's first frame with libwebp; internal.
#pragma once

#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {

extern const WholeCodec k_webp_codec;

}  // namespace bale::image_detail
