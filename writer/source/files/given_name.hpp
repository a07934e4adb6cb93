// Names of fields that a caller chooses.
#pragma once

#include <algorithm>
#include <string_view>

namespace bale {

/// What a caller may call a field: an extension, as in the names of files. The layout decides about the rest.
inline bool is_field_name(std::string_view name) {
  constexpr std::size_t k_max_name_bytes = 255;
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) > ' ' && c != '/' && c != 0x7f; });
  return plain && !name.empty() && name.size() <= k_max_name_bytes && !name.starts_with('.') && !name.ends_with('.') &&
         !name.starts_with("__") && name.find("..") == std::string_view::npos;
}

}  // namespace bale
