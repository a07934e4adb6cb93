// libjpeg's compressor, into memory, with its errors as exceptions; internal.
#pragma once

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"

namespace bale::image_detail {

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
