#include "bale/formats/image/jpeg/jpeg_lossless.hpp"

#include <algorithm>
#include <optional>

#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"
#include "bale/formats/image/jpeg/transcode/jpeg_transcoder.hpp"

namespace bale {
namespace {

using image_detail::JpegCompressor;
using image_detail::JpegDecoder;
using image_detail::JpegTranscoder;

// The result may exceed the image's size by at most this part of it.
constexpr std::size_t k_growth_divisor = 4;

std::vector<std::byte> write_coefficients(JpegDecoder& from) {
  jvirt_barray_ptr* const coefficients = from.read_coefficients();
  jpeg_decompress_struct& original = from.info_to_copy();
  return JpegCompressor().write([&](jpeg_compress_struct& info) {
    jpeg_copy_critical_parameters(&original, &info);
    info.optimize_coding = TRUE;
    // The image's own markers hold the same information, and more.
    info.write_JFIF_header = FALSE;
    info.write_Adobe_marker = FALSE;
    jpeg_write_coefficients(&info, coefficients);
    for (jpeg_saved_marker_ptr marker = original.marker_list; marker != nullptr; marker = marker->next) {
      jpeg_write_marker(&info, marker->marker, marker->data, marker->data_length);
    }
    jpeg_finish_compress(&info);
  });
}

/// Whether the image has so few segments as encoders write. libjpeg looks at all kept markers to keep one more.
bool has_few_segments(Bytes image) {
  namespace marker = image_detail::jpeg_marker;
  constexpr int k_max_segments = 4096;
  const image_detail::ByteReader in(image);
  int count = 0;
  for (std::size_t at = marker::next(in, 2); in.has(at, 4) && count <= k_max_segments; at = marker::next(in, at)) {
    const std::uint32_t code = in.u8(at + 1);
    at += 2;
    if (marker::is_alone(code) || code == marker::k_soi || code == marker::k_eoi) continue;
    ++count;
    at += std::max<std::size_t>(2, in.be16(at));
  }
  return count <= k_max_segments;
}

bool is_one_baseline_scan(const jpeg_decompress_struct& info) {
  return !info.progressive_mode && info.comps_in_scan == info.num_components && info.restart_interval == 0;
}

}  // namespace

struct JpegLossless::State {
  JpegTranscoder own;
  std::vector<std::byte> result;

  Bytes rewrite(Bytes image, std::uint64_t max_pixels);
};

Bytes JpegLossless::State::rewrite(Bytes image, std::uint64_t max_pixels) {
  JpegDecoder decoder;
  decoder.open(image, JpegDecoder::Markers::keep);
  const jpeg_decompress_struct& info = decoder.info();
  if (info.data_precision != 8 || info.arith_code || info.num_components == 4) return {};
  check_pixel_budget(decoder.width(), decoder.height(), max_pixels);
  const bool has_form = is_one_baseline_scan(info);  // the header is that of the first scan
  const std::size_t end = has_form ? image.size() : image.size() + image.size() / k_growth_divisor + 1;
  if (const std::optional<Bytes> written = own.transcode(decoder, end)) return *written;
  result = write_coefficients(decoder);
  if (result.size() >= end) return {};
  if (decode_image(result, max_pixels).rgb != decode_image(image, max_pixels).rgb) return {};
  return result;
}

JpegLossless::JpegLossless() : state_(std::make_unique<State>()) {}
JpegLossless::~JpegLossless() = default;

Bytes JpegLossless::make(Bytes image, std::uint64_t max_pixels) {
  if (probe_image(image).kind != ImageKind::jpeg || !has_few_segments(image)) return {};
  try {
    return state_->rewrite(image, max_pixels);
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::byte> make_jpeg_lossless(Bytes image, std::uint64_t max_pixels) {
  JpegLossless lossless;
  const Bytes result = lossless.make(image, max_pixels);
  return {result.begin(), result.end()};
}

}  // namespace bale
