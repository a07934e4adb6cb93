// Checks that code throws a bale::Error.
#pragma once

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale::test {

/// Runs `action`, which must throw a bale::Error, and returns the error.
template <typename Action>
Error error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return Error(ErrorCode::invalid_argument, "unreachable");
}

template <typename Action>
ErrorCode code_of(const Action& action) {
  return error_of(action).code();
}

}  // namespace bale::test
