#include "bale/formats/base/options/option_values.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/size_text.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_most = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void refuse_value(std::string_view option, std::string_view text, std::string_view accepted) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is not {}", option, printable(text), accepted));
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

}  // namespace bale
