#include "bale/formats/storage/aws/context/aws_context.hpp"

#include <cstdlib>
#include <thread>
#include <utility>

#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {

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
