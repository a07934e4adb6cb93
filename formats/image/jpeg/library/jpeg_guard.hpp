// libjpeg's errors turned into `bale::Error`; internal. The only header that includes jpeglib.h.
//
// libjpeg reports an error by a call that must not return. Throwing through its C frames is undefined, so the error
// leaves by longjmp, back into `run_jpeg`. Code that runs there must not hold an object with a destructor: objects that
// own memory belong to the caller, outside the jump.
#pragma once

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and size_t

#include <jerror.h>
#include <jpeglib.h>

#include "bale/formats/base/error.hpp"

namespace bale::image_detail {

struct JpegErrors {
  jpeg_error_mgr manager{};  // first: libjpeg passes a pointer to it
  std::jmp_buf jump{};
  char text[JMSG_LENGTH_MAX]{};
  ErrorCode code = ErrorCode::damaged;
};

/// A new error manager to set in a (de)compressor before creating it.
jpeg_error_mgr* start_jpeg_errors(JpegErrors& errors);

/// Ends the call into libjpeg with one of bale's errors.
[[noreturn]] void fail_jpeg(JpegErrors& errors, ErrorCode code, const char* text);
/// Ends the call into libjpeg with one of libjpeg's errors.
[[noreturn]] void fail_jpeg(j_common_ptr info, int message);

/// Runs `work`, which calls libjpeg. False if it ended with an error, which is in `errors`.
template <typename Work>
bool run_jpeg(JpegErrors& errors, const Work& work) {
  if (setjmp(errors.jump) != 0) return false;
  work();
  return true;
}

}  // namespace bale::image_detail
