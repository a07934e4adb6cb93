// JpegTranscoder: writes a JPEG again as a baseline one with optimized Huffman tables, by our own decoders and encoder;
// internal.
//
// It takes gray and YCbCr images at 4:4:4, 4:2:2, 4:2:0 or 4:4:0, baseline in one scan or progressive, that libjpeg
// reads without a warning. It writes the bytes that libjpeg's transcoder would write, and leaves all other images to
// it. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/jpeg/transcode/baseline_encoder.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"
#include "bale/formats/image/jpeg/transcode/scan_symbols.hpp"

namespace bale::image_detail {

/// For tests: the number of images that it transcoded in this process.
std::uint64_t transcoded_count();

class JpegTranscoder {
 public:
  /// The image that `from` has opened, with markers kept, written again. It was read again and compared: metadata,
  /// quantization tables, sampling and every coefficient are the same. Empty if it would have `end` bytes or more.
  /// nullopt if libjpeg must do it, or find out why not. `from` is not changed. The bytes are valid until the next
  /// call.
  std::optional<Bytes> transcode(const JpegDecoder& from, std::size_t end);

 private:
  bool read(const jpeg_decompress_struct& info, const BaselineFrame& frame);
  bool take_counts(const BaselineFrame& frame);
  bool make_symbols(const BaselineFrame& frame, bool counts);
  bool has_the_same_scan(const BaselineFrame& frame) const;
  bool is_equal(const jpeg_decompress_struct& info);

  bool plain_ = false;
  CoefficientPlanes planes_;
  CoefficientReader reader_;
  ScanSymbols symbols_;
  BaselineEncoder encoder_;
  std::vector<SeekPoint> points_;
  bool fills_mcus_differently_ = false;
  std::uint64_t long_runs_ = 0;  // symbols for sixteen zeros that the coefficients need
  std::vector<std::byte> out_;
};

}  // namespace bale::image_detail
