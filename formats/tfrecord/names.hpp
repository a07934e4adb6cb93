// The features with a fixed meaning (FORMAT.md, "Example"): slim's names, and ours.
#pragma once

#include <string>
#include <string_view>

namespace bale::tfrecord {

inline constexpr std::string_view k_key = "__key__";  // only in our examples
inline constexpr std::string_view k_encoded = "image/encoded";
inline constexpr std::string_view k_format = "image/format";
inline constexpr std::string_view k_filename = "image/filename";
inline constexpr std::string_view k_height = "image/height";
inline constexpr std::string_view k_width = "image/width";
inline constexpr std::string_view k_label = "image/class/label";
inline constexpr std::string_view k_label_text = "image/class/text";

/// Value of `image/format` for an image field: "JPEG", "PNG", ...; field_name() is the inverse.
std::string image_format(std::string_view field);

/// Name of the field for another tool's feature: lower case, '_' instead of '/'.
std::string field_of_feature(std::string_view feature);

}  // namespace bale::tfrecord
