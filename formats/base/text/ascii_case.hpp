// Letters and blanks of ASCII, the same in every locale. Other bytes stay as they are, so UTF-8 stays valid.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace bale {

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

/// Without blanks and line ends at its beginning and end.
constexpr std::string_view stripped(std::string_view text) {
  constexpr std::string_view k_blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(k_blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(k_blanks) - begin + 1);
}

/// Whether `text` begins with `prefix` but for the case of letters.
inline bool begins_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(),
                                                    [](char a, char b) { return lower_case(a) == lower_case(b); });
}

}  // namespace bale
