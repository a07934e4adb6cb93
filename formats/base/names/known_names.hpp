// Names of fields and splits that mean something to bale.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {

/// The field of an image that is stored as pixels: height x width x 3 bytes after a NumPy header. Other arrays have
/// this name too, so it counts as a sample's image only if the sample has no field with an image's name.
inline constexpr std::string_view k_array_field = "npy";

/// Usual names of the splits of a dataset.
inline constexpr std::array<std::string_view, 11> k_split_names{
    "dev", "eval", "evaluation", "test", "testing", "train", "training", "val", "valid", "validate", "validation"};

/// Whether people call a split so, in any case of letters.
inline bool is_split_name(std::string_view name) {
  return std::find(k_split_names.begin(), k_split_names.end(), lower_case(name)) != k_split_names.end();
}

/// What a caller may call a field: an extension, as in the names of files. The layout decides about the rest.
inline bool is_field_name(std::string_view name) {
  constexpr std::size_t k_max_name_bytes = 255;
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) > ' ' && c != '/' && c != 0x7f; });
  return plain && !name.empty() && name.size() <= k_max_name_bytes && !name.starts_with('.') && !name.ends_with('.') &&
         !name.starts_with("__") && name.find("..") == std::string_view::npos;
}

}  // namespace bale
