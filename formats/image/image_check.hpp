// What becomes of an image when it is decoded, found out before: for indexes.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/core/shard_index.hpp"
#include "bale/formats/image/image.hpp"

namespace bale {

enum class ImageCheck : std::uint8_t {
  quick,   // the header and the end; decoded only if the end is missing
  decode,  // decoded
};

/// What is known of an image.
struct ImageFacts {
  std::uint32_t width = 0;  // 0 if the header does not tell
  std::uint32_t height = 0;
  ImageCondition condition = ImageCondition::unknown;
  std::string why{};  // it cannot be decoded
};

/// Looks at an image. `unknown` are images of kinds that cannot be decoded here, and those of more than `max_pixels`
/// that would have to be decoded to know more. Never throws but `std::bad_alloc`; safe in any thread.
ImageFacts check_image(Bytes image, ImageCheck check, std::uint64_t max_pixels = k_default_max_pixels);

}  // namespace bale
