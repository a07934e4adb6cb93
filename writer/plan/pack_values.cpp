#include "bale/writer/plan/pack_values.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/registry/registry.hpp"

namespace bale {
namespace {

std::string joined(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, "|")); }

}  // namespace

std::vector<Split> parse_splits(std::string_view option, std::string_view text) {
  constexpr std::string_view k_accepted = "a list such as train=0.95,val=0.05 whose fractions sum to 1";
  std::vector<Split> splits;
  double sum = 0;
  for (const std::string& part : parse_list(option, text)) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) refuse_value(option, text, k_accepted);
    Split split{part.substr(0, equals), 0};
    const char* begin = part.data() + equals + 1;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(begin, end, split.fraction);
    if (error != std::errc{} || stop != end || !(split.fraction > 0) || split.fraction > 1) {
      refuse_value(option, text, k_accepted);
    }
    if (split.name.starts_with('.') || split.name.find('/') != std::string::npos) {
      refuse_value(option, split.name, "a name for a directory");
    }
    const auto same_name = [&](const Split& other) { return other.name == split.name; };
    if (std::any_of(splits.begin(), splits.end(), same_name)) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is named twice", option, printable(split.name)));
    }
    sum += split.fraction;
    splits.push_back(std::move(split));
  }
  if (std::abs(sum - 1) > 1e-6) refuse_value(option, text, k_accepted);
  return splits;
}

void parse_sample(std::string_view option, std::string_view text, SampleDraw& out) {
  if (!text.ends_with('%')) {
    out.count = parse_positive(option, text);
    return;
  }
  double percent = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
  if (error != std::errc{} || stop != end || !(percent > 0) || percent > 100) {
    refuse_value(option, text, "a number of samples, or a part above 0% and up to 100%, such as 5%");
  }
  out.fraction = percent / 100;
}

int parse_compression(std::string_view option, std::string_view text) {
  constexpr int k_default_level = 3;
  constexpr int k_max_level = 19;
  constexpr std::string_view k_codec = "zstd";
  if (text == k_codec) return k_default_level;
  std::optional<int> level;
  if (text.starts_with(k_codec) && text.substr(k_codec.size()).starts_with(':')) {
    level = whole_number<int>(text.substr(k_codec.size() + 1));
  }
  if (!level || *level < 1 || *level > k_max_level)
    refuse_value(option, text, "zstd or zstd:LEVEL with a level from 1 to 19");
  return *level;
}

OnError parse_on_error(std::string_view option, std::string_view text) {
  if (text == "fail") return OnError::fail;
  if (text == "skip") return OnError::skip;
  if (text == "quarantine") return OnError::quarantine;
  refuse_value(option, text, "fail, skip or quarantine");
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_part(std::string_view option, std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto part = whole_number<std::uint64_t>(text.substr(0, slash));
  const auto parts = whole_number<std::uint64_t>(text.substr(std::min(slash + 1, text.size())));
  if (!part || !parts || *part >= *parts) refuse_value(option, text, "I/N with I from 0 to N-1, such as 0/16 to 15/16");
  return std::pair(*part, *parts);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(std::string_view option, std::string_view text) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const std::string& part : parse_list(option, text)) {
    const std::size_t dots = std::min(part.find(".."), part.size());
    const auto first = whole_number<std::uint64_t>(std::string_view(part).substr(0, dots));
    const auto last =
        dots == part.size() ? first : whole_number<std::uint64_t>(std::string_view(part).substr(dots + 2));
    if (!first || !last || *first > *last) refuse_value(option, text, "a list of numbers such as 3,17,20..25");
    ranges.emplace_back(*first, *last);
  }
  return ranges;
}

std::string format_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : formats()) {
    if (!format->layouts.empty()) names.push_back(format->name);
  }
  return joined(names);
}

std::string layout_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) {
      if (std::find(names.begin(), names.end(), layout.name) == names.end()) names.push_back(layout.name);
    }
  }
  return joined(names);
}

}  // namespace bale
