// Whether an error is about content, which decides what code that skips bad samples may skip.
#pragma once

#include <cerrno>

#include "bale/formats/base/error.hpp"

namespace bale {

/// Whether the error is about the content of a file or sample: damage, data that bale does not read, a field that is
/// not there, bytes that the disk cannot deliver (EIO). Code that skips bad samples of a shard skips these alone: any
/// other error, such as a shard that is not there, has changed, or may not be read, would be an error of good samples
/// too.
inline bool is_data_error(const Error& error) {
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

}  // namespace bale
