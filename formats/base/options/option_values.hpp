// Parses the values of options: numbers, sizes, lists. Pure functions. Each throws `invalid_argument` with one line
// that names the option and the accepted values.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// Throws `invalid_argument`: OPTION: "TEXT" is not ACCEPTED.
[[noreturn]] void refuse_value(std::string_view option, std::string_view text, std::string_view accepted);

/// Refuses an empty text. It may be of a shell variable that is not set, so it does not count as "not given".
void require_value(std::string_view option, std::string_view text);

/// All of the text as a number.
template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A decimal number from `least` to `most`.
template <typename Number>
Number bounded_number(std::string_view option, std::string_view text, std::string_view accepted, Number least,
                      Number most) {
  const auto value = whole_number<Number>(text);
  if (!value || *value < least || *value > most) refuse_value(option, text, accepted);
  return *value;
}

/// "1048576", "256MiB", "64MB", "1.5GiB": K, M, G, T alone or with "iB" are powers of 1024, with "B" powers
/// of 1000; letter case does not matter. Greater than zero.
std::uint64_t parse_size(std::string_view option, std::string_view text);

/// A decimal integer, 0 or above.
std::uint64_t parse_whole(std::string_view option, std::string_view text);

/// A decimal integer of at least 1.
std::uint64_t parse_positive(std::string_view option, std::string_view text);

/// "auto" is 0, else 1..1024.
unsigned parse_jobs(std::string_view option, std::string_view text);

/// A decimal integer from 1 to 2^32 - 1.
std::uint32_t parse_count32(std::string_view option, std::string_view text);

/// A JPEG quality, 1..100.
int parse_quality(std::string_view option, std::string_view text);

/// "jpg,json,png". No part may be empty.
std::vector<std::string> parse_list(std::string_view option, std::string_view text);

// Sizes as people write them, and numbers of bytes in environment variables.

/// "256MiB" and "256M" are 256 x 2^20 bytes, "64MB" is 64 x 10^6, "1048576" and "1048576B" are bytes. nullopt for any
/// other text, and for less than 1 byte or more than 9.2e18.
std::optional<std::uint64_t> size_of_text(std::string_view text);

/// The value of the environment variable `name`; nullopt if it is not set or empty. Throws `invalid_argument` if it is
/// not a number in digits.
std::optional<std::uint64_t> env_bytes(const char* name);

}  // namespace bale
