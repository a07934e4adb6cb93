#include "bale/formats/container/writing/format_options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {

void check_format_options(const WriterOptions& options, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : options.format_options) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("layout {} has no option \"{}\"", options.layout, printable(name)),
                {.hint = known.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(known, ", "))});
  }
}

std::int64_t number_option(const WriterOptions& options, const std::string& name, std::int64_t fallback,
                           std::int64_t low, std::int64_t high) {
  const auto found = options.format_options.find(name);
  if (found == options.format_options.end()) return fallback;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    using Limits = std::numeric_limits<std::int64_t>;
    const bool is_limited = low != Limits::min() || high != Limits::max();
    throw Error(ErrorCode::invalid_argument, fmt::format("`{}` is \"{}\", not a whole number{}", name, printable(text),
                                                         is_limited ? fmt::format(" from {} to {}", low, high) : ""));
  }
  return value;
}

}  // namespace bale
