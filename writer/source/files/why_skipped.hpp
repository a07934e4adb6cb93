// What the list of skipped samples says of an error.
#pragma once

#include <string>
#include <utility>

#include "bale/formats/base/error.hpp"

namespace bale {

/// Without the hint, which is for a run that the error ends.
inline std::string why_skipped(const Error& error) {
  ErrorContext context = error.context();
  context.hint.clear();
  return Error(error.code(), error.message(), std::move(context)).what();
}

}  // namespace bale
