#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/image/codec.hpp"
#include "bale/formats/image/jpeg_guard.hpp"

namespace bale::image_detail {
namespace {

// A progressive file may claim any number of scans, each a pass over the whole image: some 30 kB can
// keep a core busy for minutes. Encoders write about ten; the most that can still refine anything
// (every coefficient and bit alone, 4 components) is a few thousand.
constexpr int k_max_scans = 500;

// JPEG_SUSPENDED never happens with the source below: the end of the bytes is an error, as it is to
// Pillow, rather than libjpeg's invented end-of-image marker and grey pixels.
class JpegDecoder {
 public:
  explicit JpegDecoder(Bytes bytes) {
    info_.err = start_jpeg_errors(errors_);
    if (!run_jpeg(errors_, [this] { jpeg_create_decompress(&info_); })) throw_error();
    source_.next_input_byte = as_uchar(bytes);
    source_.bytes_in_buffer = bytes.size();
    source_.init_source = [](j_decompress_ptr) {};
    source_.term_source = [](j_decompress_ptr) {};
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.fill_input_buffer = [](j_decompress_ptr info) -> boolean {
      fail_jpeg(reinterpret_cast<j_common_ptr>(info), JERR_INPUT_EOF);
    };
    source_.skip_input_data = [](j_decompress_ptr info, long count) {
      if (count <= 0) return;
      const auto length = static_cast<std::size_t>(count);
      if (length > info->src->bytes_in_buffer) fail_jpeg(reinterpret_cast<j_common_ptr>(info), JERR_INPUT_EOF);
      info->src->next_input_byte += length;
      info->src->bytes_in_buffer -= length;
    };
    progress_.progress_monitor = [](j_common_ptr common) {
      const auto* info = reinterpret_cast<j_decompress_ptr>(common);
      if (info->input_scan_number <= k_max_scans) return;
      fail_jpeg(*reinterpret_cast<JpegErrors*>(common->err), ErrorCode::unsupported, "more scans than we accept");
    };
    info_.src = &source_;
    info_.progress = &progress_;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  void read_header() {
    if (!run_jpeg(errors_, [this] { jpeg_read_header(&info_, TRUE); })) throw_error();
    const int components = info_.num_components;
    if (components != 1 && components != 3 && components != 4) {
      throw Error(ErrorCode::unsupported, fmt::format("JPEG with {} components", components));
    }
  }
  std::uint32_t width() const { return info_.image_width; }
  std::uint32_t height() const { return info_.image_height; }

  void scale_down(std::uint32_t min_side) {
    const std::uint32_t side = std::min(width(), height());
    info_.scale_denom = 8;
    info_.scale_num = 8;
    // libjpeg rounds the scaled sides up.
    while (info_.scale_num > 1 && (std::uint64_t{side} * (info_.scale_num / 2) + 7) / 8 >= min_side) {
      info_.scale_num /= 2;
    }
  }

  Image read_pixels() {
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;
    info_.out_color_space = info_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    if (!run_jpeg(errors_, [this] { jpeg_start_decompress(&info_); })) throw_error();
    Image image = make_image(info_.output_width, info_.output_height);
    const bool cmyk = info_.num_components == 4;
    if (!run_jpeg(errors_, [&] { cmyk ? read_cmyk_rows(image.rgb.data()) : read_rgb_rows(image.rgb.data()); })) {
      throw_error();
    }
    // All pixels are there; what may still be missing is the end-of-image marker, which Pillow forgives.
    if (!run_jpeg(errors_, [this] { jpeg_finish_decompress(&info_); }) && errors_.manager.msg_code != JERR_INPUT_EOF) {
      throw_error();
    }
    return image;
  }

 private:
  void read_rgb_rows(JSAMPLE* out) {
    const std::size_t stride = std::size_t{info_.output_width} * 3;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = out + info_.output_scanline * stride;
      jpeg_read_scanlines(&info_, &row, 1);
    }
  }

  void read_cmyk_rows(JSAMPLE* out) {
    auto* const common = reinterpret_cast<j_common_ptr>(&info_);
    const std::size_t width = info_.output_width;
    JSAMPARRAY row = info_.mem->alloc_sarray(common, JPOOL_IMAGE, info_.output_width * 4, 1);
    while (info_.output_scanline < info_.output_height) {
      JSAMPLE* to = out + info_.output_scanline * width * 3;
      jpeg_read_scanlines(&info_, row, 1);
      for (std::size_t x = 0; x < width; ++x) convert_cmyk(row[0] + x * 4, to + x * 3);
    }
  }

  // Stored values count light, not ink, as Adobe writes them; Pillow takes that for granted whether or
  // not the Adobe marker is there. Its conversion to RGB is white minus ink, black first, with the
  // products rounded to nearest.
  static void convert_cmyk(const JSAMPLE* cmyk, JSAMPLE* rgb) {
    const unsigned white = cmyk[3];
    for (int i = 0; i < 3; ++i) {
      const unsigned product = (255u - cmyk[i]) * white + 128u;
      rgb[i] = static_cast<JSAMPLE>(white - (((product >> 8) + product) >> 8));
    }
  }

  [[noreturn]] void throw_error() const { throw Error(errors_.code, fmt::format("JPEG: {}", errors_.text)); }

  JpegErrors errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
};

}  // namespace

Image decode_jpeg(Bytes bytes, std::uint64_t max_pixels, std::uint32_t min_side) {
  JpegDecoder decoder(bytes);
  decoder.read_header();
  check_pixel_budget(decoder.width(), decoder.height(), max_pixels);
  if (min_side > 0) decoder.scale_down(min_side);
  return decoder.read_pixels();
}

}  // namespace bale::image_detail
