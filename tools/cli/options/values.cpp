#include "bale/tools/cli/options/values.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/options/option_values.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/transform/members/dtype_name.hpp"

namespace bale::tools {
namespace {

double parse_time(std::string_view option, std::string_view text, std::string_view unit) {
  constexpr double k_most = 86'400;
  const auto value = whole_number<double>(text);
  if (!value || !(*value > 0) || *value > k_most) {
    refuse_value(option, text, fmt::format("a number of {} above 0", unit));
  }
  return *value;
}

}  // namespace

unsigned parse_workers(std::string_view option, std::string_view text) {
  return text == "auto" ? k_workers_auto
                        : bounded_number(option, text, "\"auto\" or a number from 0 to 1024", 0U, 1024U);
}

std::vector<Stage> parse_stages(std::string_view option, std::string_view text) {
  std::vector<Stage> stages;
  for (const std::string& part : parse_list(option, text)) {
    const auto named = [&](Stage stage) { return stage_name(stage) == part; };
    const auto stage = std::find_if(std::begin(k_stages), std::end(k_stages), named);
    if (stage == std::end(k_stages)) refuse_value(option, part, "some of read, verify, decode, train");
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
  refuse_value(option, text, "cpu, cuda or cuda:N");
}

DType parse_dtype(std::string_view option, std::string_view text) {
  for (const DType dtype : k_dtypes) {
    if (text == dtype_name(dtype)) return dtype;
  }
  refuse_value(option, text, "uint8, float16, bfloat16 or float32");
}

double parse_seconds(std::string_view option, std::string_view text) { return parse_time(option, text, "seconds"); }

double parse_milliseconds(std::string_view option, std::string_view text) {
  return parse_time(option, text, "milliseconds") / 1e3;
}

Shuffle parse_order(std::string_view option, std::string_view text) {
  constexpr std::string_view k_sized = "block:";
  if (text == "none") return Shuffle::none();
  if (text == "full") return Shuffle::full();
  if (text == "block") return Shuffle::block();
  const std::size_t comma = text.find(',');
  if (!text.starts_with(k_sized) || comma == std::string_view::npos) {
    refuse_value(option, text, "none, full, block or block:SAMPLES,BLOCKS");
  }
  return Shuffle::block(parse_positive(option, text.substr(k_sized.size(), comma - k_sized.size())),
                        parse_positive(option, text.substr(comma + 1)));
}

double parse_similarity(std::string_view option, std::string_view text) {
  const auto value = whole_number<double>(text);
  if (!value || !(*value >= 0.5 && *value <= 1)) refuse_value(option, text, "a number from 0.5 to 1");
  return *value;
}

KeepRule parse_keep_rule(std::string_view option, std::string_view text) {
  if (text == "first") return KeepRule::first;
  if (text == "largest") return KeepRule::largest;
  if (text == "smallest") return KeepRule::smallest;
  refuse_value(option, text, "first, largest or smallest");
}

ConflictRule parse_conflict_rule(std::string_view option, std::string_view text) {
  if (text == "keep-one") return ConflictRule::keep_one;
  if (text == "keep-all") return ConflictRule::keep_all;
  if (text == "drop-all") return ConflictRule::drop_all;
  refuse_value(option, text, "keep-one, keep-all or drop-all");
}

}  // namespace bale::tools
