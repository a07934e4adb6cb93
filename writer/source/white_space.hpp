// Names in lists and tables, around which people and programs leave white space.
#pragma once

#include <string_view>

namespace bale {

/// The text without spaces, tabs and carriage returns around it.
inline std::string_view without_white_space(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace bale
