#include "bale/formats/base/options/option_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_most = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void refuse_value(std::string_view option, std::string_view text, std::string_view accepted) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is not {}", option, printable(text), accepted));
}

void require_value(std::string_view option, std::string_view text) {
  if (!text.empty()) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: the value is empty", option),
              {.hint = "give one, or leave it out"});
}

std::uint64_t parse_size(std::string_view option, std::string_view text) {
  const auto bytes = size_of_text(text);
  if (!bytes) refuse_value(option, text, "a size such as 256MiB, 64MB or 1048576");
  return *bytes;
}

std::uint64_t parse_whole(std::string_view option, std::string_view text) {
  return bounded_number<std::uint64_t>(option, text, "a whole number", 0, k_most);
}

std::uint64_t parse_positive(std::string_view option, std::string_view text) {
  return bounded_number<std::uint64_t>(option, text, "a whole number of at least 1", 1, k_most);
}

unsigned parse_jobs(std::string_view option, std::string_view text) {
  return text == "auto" ? 0 : bounded_number(option, text, "\"auto\" or a number from 1 to 1024", 1U, 1024U);
}

std::uint32_t parse_count32(std::string_view option, std::string_view text) {
  return bounded_number<std::uint32_t>(option, text, "a whole number of at least 1 and below 2^32", 1,
                                       std::numeric_limits<std::uint32_t>::max());
}

int parse_quality(std::string_view option, std::string_view text) {
  return bounded_number(option, text, "a number from 1 to 100", 1, 100);
}

std::vector<std::string> parse_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) refuse_value(option, text, "a list without empty parts");
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

namespace {

/// Bytes in a unit; 0 for an unknown one.
std::uint64_t unit_bytes(std::string_view unit) {
  const std::string lower = lower_case(unit);
  if (lower.empty() || lower == "b") return 1;
  constexpr std::string_view k_prefixes = "kmgt";
  const std::size_t power = k_prefixes.find(lower[0]);
  if (power == std::string_view::npos) return 0;
  const std::string rest = lower.substr(1);
  if (!rest.empty() && rest != "ib" && rest != "b") return 0;
  const std::uint64_t base = rest == "b" ? 1000 : 1024;
  std::uint64_t bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= base;
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> size_of_text(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string_view unit = text.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const std::uint64_t scale = unit_bytes(unit);
  if (end == 0 || scale == 0) return std::nullopt;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, value, std::chars_format::fixed);
  if (error != std::errc{} || stop != text.data() + end) return std::nullopt;
  const double bytes = value * static_cast<double>(scale);
  constexpr double k_limit = 9.2e18;
  if (!(bytes >= 1) || bytes > k_limit) return std::nullopt;
  // Whole numbers are exact: a double holds only 53 bits.
  std::uint64_t whole = 0;
  const auto [whole_stop, whole_error] = std::from_chars(text.data(), text.data() + end, whole);
  if (whole_error == std::errc{} && whole_stop == text.data() + end) return whole * scale;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<std::uint64_t> env_bytes(const char* name) {
  const char* const set = std::getenv(name);
  if (set == nullptr || *set == '\0') return std::nullopt;
  const std::string_view text(set);
  std::uint64_t bytes = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (problem == std::errc{} && end == text.data() + text.size()) return bytes;
  throw Error(ErrorCode::invalid_argument, fmt::format("{} is \"{}\"", name, printable(text)),
              {.hint = "set it to a number of bytes", .is_of_machine = true});
}

}  // namespace bale
