// What is known of an image without decoding it. Indexes store it as one byte.
#pragma once

#include <cstdint>

namespace bale {

/// Whether a sample's image is complete and can be decoded.
enum class ImageCondition : std::uint8_t { unknown = 0, complete = 1, incomplete = 2, undecodable = 3 };

}  // namespace bale
