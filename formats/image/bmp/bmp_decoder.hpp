// BMP; internal.
#pragma once

#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {

extern const WholeCodec k_bmp_codec;

}  // namespace bale::image_detail
