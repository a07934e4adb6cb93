// Checks that code throws a bale::Error.
#pragma once

#include <optional>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale::test {

/// The bale::Error that `action` throws, if it throws one.
template <typename Action>
std::optional<Error> thrown_by(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Runs `action`, which must throw a bale::Error, and returns the error.
template <typename Action>
Error error_of(const Action& action) {
  const std::optional<Error> error = thrown_by(action);
  REQUIRE(error);
  return *error;
}

template <typename Action>
ErrorCode code_of(const Action& action) {
  return error_of(action).code();
}

template <typename Action>
bool throws(ErrorCode code, const Action& action) {
  const std::optional<Error> error = thrown_by(action);
  return error && error->code() == code;
}

/// Whether `action` throws what damaged or foreign files are refused with.
template <typename Action>
bool refuses_content(const Action& action) {
  const std::optional<Error> error = thrown_by(action);
  return error && (error->code() == ErrorCode::damaged || error->code() == ErrorCode::unsupported);
}

/// What the error says that `action` throws; "" if it throws none.
template <typename Action>
std::string message_of(const Action& action) {
  const std::optional<Error> error = thrown_by(action);
  return error ? error->what() : "";
}

/// The same of an error that has to be of this code.
template <typename Action>
std::string message_of(ErrorCode code, const Action& action) {
  const std::optional<Error> error = thrown_by(action);
  if (error) CHECK(error->code() == code);
  return error ? error->what() : "";
}

}  // namespace bale::test
