// Parses decimal integers.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bale {

/// The integer that the whole of `text` represents; nullopt if it is anything else.
inline std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace bale
