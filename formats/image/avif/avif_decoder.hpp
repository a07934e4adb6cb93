// AVIF's first frame with libavif; internal.
#pragma once

#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {

extern const WholeCodec k_avif_codec;

}  // namespace bale::image_detail
