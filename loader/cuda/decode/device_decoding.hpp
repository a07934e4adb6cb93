// Which transforms a device can make of stored images.
#pragma once

#include <string>

#include "bale/loader/transform/transform.hpp"

namespace bale::cuda_detail {

/// What of `delivered` a device cannot do to images that it decodes, as the end of a sentence; empty if it can make the
/// images: by crops, one resize and a horizontal flip.
std::string decoding_obstacle(const Transform& delivered);

}  // namespace bale::cuda_detail
