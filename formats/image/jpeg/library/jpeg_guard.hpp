// libjpeg's errors turned into `bale::Error`; internal. The only header that includes jpeglib.h.
//
// libjpeg reports an error by a call that must not return. Throwing through its C frames is undefined, so the error
// leaves by longjmp, back into `run_jpeg`. Code that runs there must not hold an object with a destructor: objects that
// own memory belong to the caller, outside the jump.
#pragma once

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and size_t
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

#include "bale/formats/base/bytes.hpp"
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

/// libjpeg's compressor, into memory, with its errors as exceptions.
class JpegCompressor {
 public:
  JpegCompressor() {
    info_.err = start_jpeg_errors(errors_);
    run([this] { jpeg_create_compress(&info_); });
  }
  ~JpegCompressor() {
    jpeg_destroy_compress(&info_);
    std::free(buffer_);
  }
  JpegCompressor(const JpegCompressor&) = delete;
  JpegCompressor& operator=(const JpegCompressor&) = delete;

  /// The file that `work`(jpeg_compress_struct&) writes. longjmp may leave `work`, so nothing in it may need a
  /// destructor. Throws `unsupported` if libjpeg refuses. One call per object.
  template <typename Work>
  std::vector<std::byte> write(const Work& work) {
    run([&] {
      jpeg_mem_dest(&info_, &buffer_, &size_);
      work(info_);
    });
    const auto* const first = reinterpret_cast<const std::byte*>(buffer_);
    return {first, first + size_};
  }

 private:
  template <typename Work>
  void run(const Work& work) {
    if (!run_jpeg(errors_, work)) throw Error(ErrorCode::unsupported, fmt::format("JPEG: {}", errors_.text));
  }

  JpegErrors errors_{};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
  jpeg_compress_struct info_{};
};

}  // namespace bale::image_detail
