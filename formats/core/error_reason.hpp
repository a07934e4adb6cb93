// What an error says of what went wrong, without the place: for reports that name the place themselves.
#pragma once

#include <cstring>
#include <string>

#include "bale/formats/core/error.hpp"

namespace bale {

/// The message with the system's own words, without place and hint.
inline std::string error_reason(const Error& error) {
  const int value = error.context().system_error;
  return value == 0 ? error.message() : error.message() + ": " + std::strerror(value);
}

}  // namespace bale
