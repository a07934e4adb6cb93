// Lossless transcoding of JPEGs to the form that decodes fastest (as `jpegtran -optimize` does).
#pragma once

#include <memory>
#include <vector>

#include "bale/formats/image/image.hpp"

namespace bale {

/// Transcodes one image after another, and keeps its memory from one to the next. For one thread at a time.
class JpegLossless {
 public:
  JpegLossless();
  ~JpegLossless();
  JpegLossless(const JpegLossless&) = delete;
  JpegLossless& operator=(const JpegLossless&) = delete;

  /// Writes the same coefficients as a baseline JPEG of one scan, without restart markers, with optimized Huffman
  /// tables. A progressive JPEG then decodes in half the time; others shrink a little. Quantization tables, comments
  /// and all application data (EXIF, ICC, Adobe) stay. The result was read again and compared: every coefficient,
  /// quantization table and byte of metadata is the same, and so is every pixel.
  ///
  /// Returns nothing if the image should stay as it is: it is not a JPEG of 8 bits with Huffman codes; it has four
  /// components; it has a defect, or bytes after its end; it has this form already and would not shrink; it would grow
  /// by more than a fourth; its pixels would change; or it has more than `max_pixels`. The bytes are valid until the
  /// next call. Throws only `std::bad_alloc`.
  Bytes make(Bytes image, std::uint64_t max_pixels = k_default_max_pixels);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same for a single image. May be called from any thread.
std::vector<std::byte> make_jpeg_lossless(Bytes image, std::uint64_t max_pixels = k_default_max_pixels);

}  // namespace bale
