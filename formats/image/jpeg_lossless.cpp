#include "bale/formats/image/jpeg_lossless.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "bale/formats/image/codec.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg_decoder.hpp"
#include "bale/formats/image/jpeg_guard.hpp"

namespace bale {
namespace {

using image_detail::JpegDecoder;
using image_detail::JpegErrors;

/// libjpeg's compressor, fed with coefficients.
class CoefficientWriter {
 public:
  CoefficientWriter() {
    info_.err = image_detail::start_jpeg_errors(errors_);
    run([this] { jpeg_create_compress(&info_); });
  }
  ~CoefficientWriter() {
    jpeg_destroy_compress(&info_);
    std::free(buffer_);
  }
  CoefficientWriter(const CoefficientWriter&) = delete;
  CoefficientWriter& operator=(const CoefficientWriter&) = delete;

  std::vector<std::byte> write(JpegDecoder& from) {
    jvirt_barray_ptr* const coefficients = from.read_coefficients();
    run([&] { write(from.info_to_copy(), coefficients); });
    const auto* const first = reinterpret_cast<const std::byte*>(buffer_);
    return {first, first + size_};
  }

 private:
  void write(jpeg_decompress_struct& from, jvirt_barray_ptr* coefficients) {
    jpeg_mem_dest(&info_, &buffer_, &size_);
    jpeg_copy_critical_parameters(&from, &info_);
    info_.optimize_coding = TRUE;
    // The markers of the image itself say what these would, and more.
    info_.write_JFIF_header = FALSE;
    info_.write_Adobe_marker = FALSE;
    jpeg_write_coefficients(&info_, coefficients);
    for (jpeg_saved_marker_ptr marker = from.marker_list; marker != nullptr; marker = marker->next) {
      jpeg_write_marker(&info_, marker->marker, marker->data, marker->data_length);
    }
    jpeg_finish_compress(&info_);
  }

  template <typename Work>
  void run(const Work& work) {
    if (!image_detail::run_jpeg(errors_, work)) throw Error(errors_.code, fmt::format("JPEG: {}", errors_.text));
  }

  JpegErrors errors_{};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
  jpeg_compress_struct info_{};
};

bool is_one_baseline_scan(const jpeg_decompress_struct& info) {
  return !info.progressive_mode && info.comps_in_scan == info.num_components && info.restart_interval == 0;
}

std::vector<std::byte> rewritten(Bytes image) {
  JpegDecoder decoder;
  decoder.open(image, JpegDecoder::Markers::keep);
  const jpeg_decompress_struct& info = decoder.info();
  if (info.data_precision != 8 || info.arith_code || info.num_components == 4) return {};
  image_detail::check_pixel_budget(decoder.width(), decoder.height(), k_default_max_pixels);
  const bool has_form = is_one_baseline_scan(info);  // the header is that of the first scan
  std::vector<std::byte> result = CoefficientWriter().write(decoder);
  if (has_form && result.size() >= image.size()) return {};
  if (result.size() > image.size() + image.size() / k_lossless_growth_divisor) return {};
  if (decode_image(result).rgb != decode_image(image).rgb) return {};
  return result;
}

}  // namespace

std::vector<std::byte> make_jpeg_lossless(Bytes image) {
  if (probe_image(image).kind != ImageKind::jpeg) return {};
  try {
    return rewritten(image);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace bale
