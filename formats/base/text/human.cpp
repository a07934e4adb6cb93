#include "bale/formats/base/text/human.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace bale {

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 6> k_units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < k_units.size()) {
    value /= 1024;
    ++unit;
  }
  std::string text = fmt::format("{:.{}f}", value, value >= 99.95 ? 0 : 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return fmt::format("{} {}", text, k_units[unit]);
}

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string human_seconds(double seconds) {
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string human_clock(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::clamp(seconds, 0.0, 359'999.0)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string plural(std::uint64_t count, const std::string& noun) {
  if (count != 1 && noun.ends_with("ry")) {
    return fmt::format("{} {}ies", human_count(count), noun.substr(0, noun.size() - 1));
  }
  const bool hisses = noun.ends_with("s") || noun.ends_with("x") || noun.ends_with("ch");
  return fmt::format("{} {}{}", human_count(count), noun, count == 1 ? "" : hisses ? "es" : "s");
}

}  // namespace bale
