#include "bale/formats/storage/location/environment.hpp"

#include <cstdlib>
#include <string_view>

#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {

std::string environment_variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  const std::string_view given = value != nullptr ? stripped(value) : std::string_view();
  return given.empty() ? otherwise : std::string(given);
}

bool is_on(const char* name) {
  const std::string value = lower_case(environment_variable(name));
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

}  // namespace bale
