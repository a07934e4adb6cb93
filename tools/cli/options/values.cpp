#include "bale/tools/cli/options/values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/size_text.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/transform/members/dtype_name.hpp"

namespace bale::tools {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view accepted) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is not {}", option, printable(text), accepted));
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename Number>
Number bounded(std::string_view option, std::string_view text, Number least, std::string_view accepted,
               Number most = std::numeric_limits<Number>::max()) {
  const auto value = whole_number<Number>(text);
  if (!value || *value < least || *value > most) refuse(option, text, accepted);
  return *value;
}

double parse_time(std::string_view option, std::string_view text, std::string_view unit) {
  constexpr double k_most = 86'400;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || !(value > 0) || value > k_most) {
    refuse(option, text, fmt::format("a number of {} above 0", unit));
  }
  return value;
}

}  // namespace

std::uint64_t parse_size(std::string_view option, std::string_view text) {
  const auto bytes = size_of_text(text);
  if (!bytes) refuse(option, text, "a size such as 256MiB, 64MB or 1048576");
  return *bytes;
}

std::uint64_t parse_whole(std::string_view option, std::string_view text) {
  return bounded<std::uint64_t>(option, text, 0, "a whole number");
}

std::uint64_t parse_positive(std::string_view option, std::string_view text) {
  return bounded<std::uint64_t>(option, text, 1, "a whole number of at least 1");
}

unsigned parse_jobs(std::string_view option, std::string_view text) {
  return text == "auto" ? 0 : bounded(option, text, 1U, "\"auto\" or a number from 1 to 1024", 1024U);
}

unsigned parse_workers(std::string_view option, std::string_view text) {
  return text == "auto" ? k_workers_auto : bounded(option, text, 0U, "\"auto\" or a number from 0 to 1024", 1024U);
}

std::uint32_t parse_count32(std::string_view option, std::string_view text) {
  return bounded<std::uint32_t>(option, text, 1, "a whole number of at least 1 and below 2^32");
}

int parse_quality(std::string_view option, std::string_view text) {
  return bounded(option, text, 1, "a number from 1 to 100", 100);
}

std::vector<Stage> parse_stages(std::string_view option, std::string_view text) {
  std::vector<Stage> stages;
  for (const std::string& part : parse_list(option, text)) {
    const auto named = [&](Stage stage) { return stage_name(stage) == part; };
    const auto stage = std::find_if(std::begin(k_stages), std::end(k_stages), named);
    if (stage == std::end(k_stages)) refuse(option, part, "some of read, verify, decode, train");
    stages.push_back(*stage);
  }
  return stages;
}

std::optional<int> parse_device(std::string_view option, std::string_view text) {
  constexpr std::string_view k_cuda = "cuda";
  if (text == "cpu") return std::nullopt;
  if (text == k_cuda) return 0;
  if (text.starts_with("cuda:")) {
    if (const auto number = whole_number<unsigned>(text.substr(5)); number && *number < 1024) {
      return static_cast<int>(*number);
    }
  }
  refuse(option, text, "cpu, cuda or cuda:N");
}

DType parse_dtype(std::string_view option, std::string_view text) {
  for (const DType dtype : k_dtypes) {
    if (text == dtype_name(dtype)) return dtype;
  }
  refuse(option, text, "uint8, float16, bfloat16 or float32");
}

double parse_seconds(std::string_view option, std::string_view text) { return parse_time(option, text, "seconds"); }

double parse_milliseconds(std::string_view option, std::string_view text) {
  return parse_time(option, text, "milliseconds") / 1e3;
}

std::vector<Split> parse_splits(std::string_view option, std::string_view text) {
  constexpr std::string_view k_accepted = "a list such as train=0.95,val=0.05 whose fractions sum to 1";
  std::vector<Split> splits;
  double sum = 0;
  for (const std::string& part : parse_list(option, text)) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) refuse(option, text, k_accepted);
    Split split{part.substr(0, equals), 0};
    const char* begin = part.data() + equals + 1;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(begin, end, split.fraction);
    if (error != std::errc{} || stop != end || !(split.fraction > 0) || split.fraction > 1) {
      refuse(option, text, k_accepted);
    }
    if (split.name.starts_with('.') || split.name.find('/') != std::string::npos) {
      refuse(option, split.name, "a name for a directory");
    }
    const auto same_name = [&](const Split& other) { return other.name == split.name; };
    if (std::any_of(splits.begin(), splits.end(), same_name)) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is named twice", option, printable(split.name)));
    }
    sum += split.fraction;
    splits.push_back(std::move(split));
  }
  if (std::abs(sum - 1) > 1e-6) refuse(option, text, k_accepted);
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
    refuse(option, text, "a number of samples, or a part above 0% and up to 100%, such as 5%");
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
    refuse(option, text, "zstd or zstd:LEVEL with a level from 1 to 19");
  return *level;
}

OnError parse_on_error(std::string_view option, std::string_view text) {
  if (text == "fail") return OnError::fail;
  if (text == "skip") return OnError::skip;
  if (text == "quarantine") return OnError::quarantine;
  refuse(option, text, "fail, skip or quarantine");
}

Shuffle parse_order(std::string_view option, std::string_view text) {
  constexpr std::string_view k_sized = "block:";
  if (text == "none") return Shuffle::none();
  if (text == "full") return Shuffle::full();
  if (text == "block") return Shuffle::block();
  const std::size_t comma = text.find(',');
  if (!text.starts_with(k_sized) || comma == std::string_view::npos) {
    refuse(option, text, "none, full, block or block:SAMPLES,BLOCKS");
  }
  return Shuffle::block(parse_positive(option, text.substr(k_sized.size(), comma - k_sized.size())),
                        parse_positive(option, text.substr(comma + 1)));
}

double parse_similarity(std::string_view option, std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || !(value >= 0.5 && value <= 1)) {
    refuse(option, text, "a number from 0.5 to 1");
  }
  return value;
}

KeepRule parse_keep_rule(std::string_view option, std::string_view text) {
  if (text == "first") return KeepRule::first;
  if (text == "largest") return KeepRule::largest;
  if (text == "smallest") return KeepRule::smallest;
  refuse(option, text, "first, largest or smallest");
}

ConflictRule parse_conflict_rule(std::string_view option, std::string_view text) {
  if (text == "keep-one") return ConflictRule::keep_one;
  if (text == "keep-all") return ConflictRule::keep_all;
  if (text == "drop-all") return ConflictRule::drop_all;
  refuse(option, text, "keep-one, keep-all or drop-all");
}

std::vector<std::string> parse_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) refuse(option, text, "a list without empty parts");
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_part(std::string_view option, std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto part = whole_number<std::uint64_t>(text.substr(0, slash));
  const auto parts = whole_number<std::uint64_t>(text.substr(std::min(slash + 1, text.size())));
  if (!part || !parts || *part >= *parts) refuse(option, text, "I/N with I from 0 to N-1, such as 0/16 to 15/16");
  return std::pair(*part, *parts);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(std::string_view option, std::string_view text) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const std::string& part : parse_list(option, text)) {
    const std::size_t dots = std::min(part.find(".."), part.size());
    const auto first = whole_number<std::uint64_t>(std::string_view(part).substr(0, dots));
    const auto last =
        dots == part.size() ? first : whole_number<std::uint64_t>(std::string_view(part).substr(dots + 2));
    if (!first || !last || *first > *last) refuse(option, text, "a list of numbers such as 3,17,20..25");
    ranges.emplace_back(*first, *last);
  }
  return ranges;
}

}  // namespace bale::tools
