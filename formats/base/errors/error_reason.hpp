// The message of an error without its place, for reports that name the place themselves.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "bale/formats/base/error.hpp"

namespace bale {

/// The hint of throw_errno() if the disk is full. A command that can be resumed replaces it.
inline constexpr std::string_view k_no_space_hint = "free some space, then try again";

/// Whether an errno says that a disk, or what its user may have of it, is full.
inline bool is_full_disk(int error) { return error == ENOSPC || error == EDQUOT; }

/// The message and the system's error text, without place and hint.
inline std::string error_reason(const Error& error) {
  const int value = error.context().system_error;
  return value == 0 ? error.message() : error.message() + ": " + std::strerror(value);
}

/// Whether the error is about the file that was read, so that a report can name the file and continue with the others.
inline bool concerns_one_file(const Error& error) {
  switch (error.code()) {
    case ErrorCode::damaged:
    case ErrorCode::unsupported:
    case ErrorCode::not_found:
      return true;
    case ErrorCode::io:
      return !is_lack_of_resources(error);
    default:
      return false;
  }
}

// Whether an error is about content, which decides what code that skips bad samples may skip.

/// Whether the error is about the content of a file or sample: damage, data that bale does not read, a field that is
/// not there, bytes that the disk cannot deliver (EIO). Code that skips bad samples of a shard skips these alone: any
/// other error, such as a shard that is not there, has changed, or may not be read, would be an error of good samples
/// too.
inline bool is_data_error(const Error& error) {
  if (error.context().is_of_machine) return false;
  switch (error.code()) {
    case ErrorCode::damaged:
    case ErrorCode::unsupported:
    case ErrorCode::invalid_argument:
      return true;
    case ErrorCode::not_found:
      return !error.context().key.empty();
    default:
      return error.context().system_error == EIO;
  }
}

/// What a check calls the error, the same as whoever reads: a disk that does not deliver (`io`) and what bale does not
/// read (`unsupported`) are not damage. Anything else that is wrong with a file is.
inline ErrorCode code_of_finding(const Error& error) {
  const bool is_its_own = error.code() == ErrorCode::io || error.code() == ErrorCode::unsupported;
  return is_its_own ? error.code() : ErrorCode::damaged;
}

/// What the list of skipped samples says of an error: all but the hint, which is for a run that the error ends.
inline std::string why_skipped(const Error& error) {
  ErrorContext context = error.context();
  context.hint.clear();
  return Error(error.code(), error.message(), std::move(context)).what();
}

}  // namespace bale
