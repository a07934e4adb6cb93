// Names of fields that mean something to bale.
#pragma once

#include <string_view>

namespace bale {

/// The field of an image that is stored as pixels: height x width x 3 bytes after a NumPy header. Other arrays have
/// this name too, so it counts as a sample's image only if the sample has no field with an image's name.
inline constexpr std::string_view k_array_field = "npy";

}  // namespace bale
