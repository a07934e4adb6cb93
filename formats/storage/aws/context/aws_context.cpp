#include "bale/formats/storage/aws/context/aws_context.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

/// Takes numbers and separators from the front of a text. Once something does not fit, `failed` stays set.
struct TimeText {
  std::string_view rest;
  bool failed = false;

  int number(std::size_t num_digits) {
    int value = 0;
    const std::string_view digits = rest.substr(0, num_digits);
    const char* const end = digits.data() + digits.size();
    const bool is_number = digits.size() == num_digits && digits.front() >= '0' && digits.front() <= '9' &&
                           std::from_chars(digits.data(), end, value).ptr == end;
    if (!is_number) failed = true;
    rest.remove_prefix(digits.size());
    return value;
  }

  bool take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }

  void require(char c) {
    if (!take(c)) failed = true;
  }

  /// "Z" or "+hh:mm".
  std::chrono::minutes zone() {
    if (take('Z')) return {};
    const int sign = take('-') ? -1 : 1;
    if (sign == 1) require('+');
    const int hours = number(2);
    take(':');
    const int minutes = number(2);
    return sign * (std::chrono::hours{hours} + std::chrono::minutes{minutes});
  }
};

}  // namespace

std::string compact_utc_time(UtcTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{days};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time - days).count();
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), seconds / 3600,
                     seconds / 60 % 60, seconds % 60);
}

std::optional<UtcTime> parse_utc_time(std::string_view text) {
  TimeText in{.rest = text};
  const std::chrono::year year{in.number(4)};
  in.require('-');
  const std::chrono::month month{static_cast<unsigned>(in.number(2))};
  in.require('-');
  const std::chrono::day day{static_cast<unsigned>(in.number(2))};
  in.require('T');
  const int hours = in.number(2);
  in.require(':');
  const int minutes = in.number(2);
  in.require(':');
  const int seconds = in.number(2);
  if (in.take('.')) in.rest.remove_prefix(std::min(in.rest.find_first_not_of("0123456789"), in.rest.size()));
  const std::chrono::minutes offset = in.zone();
  const std::chrono::year_month_day date{year, month, day};
  if (in.failed || !in.rest.empty() || !date.ok() || hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;
  return std::chrono::sys_days{date} + std::chrono::hours{hours} + std::chrono::minutes{minutes} +
         std::chrono::seconds{seconds} - offset;
}

AwsContext AwsContext::of_process() {
  return {.variable = [](const std::string& name) -> std::optional<std::string> {
            const char* const value = std::getenv(name.c_str());
            if (value == nullptr) return std::nullopt;
            return value;
          },
          .perform = [](HttpRequest request) { return HttpClient::instance().perform(std::move(request)); },
          .now = [] { return std::chrono::system_clock::now(); },
          .pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }};
}

std::optional<std::string> AwsContext::setting(const std::string& name) const {
  const std::string value(stripped(variable(name).value_or("")));
  return value.empty() ? std::nullopt : std::optional(value);
}

bool AwsContext::is_on(const std::string& name) const {
  const std::string value = lower_case(setting(name).value_or(""));
  return value == "yes" || value == "true" || value == "on" || value == "1";
}

}  // namespace bale
