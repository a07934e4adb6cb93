#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"

#include <algorithm>
#include <new>
#include <string>

#include <fmt/format.h>

namespace bale::image_detail {
namespace {

// A progressive file may have any number of scans, each a pass over the whole image: about 30 kB can keep a core busy
// for minutes. Encoders write about ten. At most a few thousand can refine anything (every coefficient and bit alone, 4
// components).
constexpr int k_max_libjpeg_scans = 500;

// Fancy upsampling mixes a chroma sample with its neighbors, so one more column on each side makes the region's own
// columns exact. Below two chroma samples libjpeg switches to another filter; chroma is at most four times coarser than
// luma.
constexpr JDIMENSION k_margin = 1;
constexpr JDIMENSION k_min_columns = 8;

// libjpeg-turbo estimates these first coefficients, in zigzag order, from neighboring blocks if the scans of a
// progressive file do not give them in full.
constexpr int k_smoothed_coefficients = 9;

// Stored values count light, not ink, as Adobe writes them. Pillow assumes this with and without the Adobe marker. Its
// conversion to RGB is white minus ink, black first, with the products rounded to nearest.
void convert_cmyk(const JSAMPLE* cmyk, JSAMPLE* rgb) {
  const unsigned white = cmyk[3];
  for (int i = 0; i < 3; ++i) {
    const unsigned product = (255u - cmyk[i]) * white + 128u;
    rgb[i] = static_cast<JSAMPLE>(white - (((product >> 8) + product) >> 8));
  }
}

}  // namespace

void JpegDecoder::open(Bytes bytes, Markers markers) {
  close();
  info_.err = start_jpeg_errors(errors_);
  created_ = true;  // a failed jpeg_create_decompress leaves an object that can be destroyed
  run([this] { jpeg_create_decompress(&info_); });
  connect_source(bytes);
  if (markers == Markers::keep) run([this] { keep_markers(); });
  run([this] { jpeg_read_header(&info_, TRUE); });
  const int components = info_.num_components;
  if (components != 1 && components != 3 && components != 4) {
    throw Error(ErrorCode::unsupported, fmt::format("JPEG with {} components", components));
  }
  info_.dct_method = JDCT_ISLOW;
  info_.do_fancy_upsampling = TRUE;
  info_.out_color_space = components == 4 ? JCS_CMYK : JCS_RGB;
  info_.output_width = info_.image_width;
  info_.output_height = info_.image_height;
}

void JpegDecoder::keep_markers() {
  constexpr unsigned k_whole = 0xFFFF;
  jpeg_save_markers(&info_, JPEG_COM, k_whole);
  for (int number = 0; number < 16; ++number) jpeg_save_markers(&info_, JPEG_APP0 + number, k_whole);
}

void JpegDecoder::close() {
  if (created_) jpeg_destroy_decompress(&info_);
  created_ = false;
}

// JPEG_SUSPENDED never happens with this source. The end of the bytes is an error, as in Pillow, instead of the
// end-of-image marker and gray pixels that libjpeg would insert.
void JpegDecoder::connect_source(Bytes bytes) {
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
    if (info->input_scan_number <= k_max_libjpeg_scans) return;
    fail_jpeg(*reinterpret_cast<JpegErrors*>(common->err), ErrorCode::unsupported, "more scans than we accept");
  };
  info_.src = &source_;
  info_.progress = &progress_;
}

jvirt_barray_ptr* JpegDecoder::read_coefficients() {
  jvirt_barray_ptr* coefficients = nullptr;
  run([&] { coefficients = jpeg_read_coefficients(&info_); });
  if (errors_.manager.num_warnings > 0) throw Error(ErrorCode::damaged, "JPEG: corrupt data that decoders tolerate");
  if (source_.bytes_in_buffer > 0) throw Error(ErrorCode::damaged, "JPEG: bytes after the image's end");
  return coefficients;
}

void JpegDecoder::scale_down(std::uint32_t min_side) {
  const std::uint32_t side = std::min(info_.image_width, info_.image_height);
  info_.scale_denom = 8;
  info_.scale_num = 8;
  // libjpeg rounds the scaled sides up.
  while (info_.scale_num > 1 && (std::uint64_t{side} * (info_.scale_num / 2) + 7) / 8 >= min_side) {
    info_.scale_num /= 2;
  }
  run([this] { jpeg_calc_output_dimensions(&info_); });
}

RegionLayout JpegDecoder::start(const Region& region) {
  run([this] { jpeg_start_decompress(&info_); });
  first_row_ = region.y;
  end_row_ = region.y + region.height;
  // The estimates use blocks up to two blocks away, and libjpeg computes them differently for a part of the image.
  every_row_ = smooths_blocks();
  JDIMENSION left = 0;
  if (!every_row_) {
    left = region.x - std::min(region.x, k_margin);
    JDIMENSION right = std::min(region.x + region.width + k_margin, info_.output_width);
    right = std::min(std::max(right, left + k_min_columns), info_.output_width);
    left = std::min(left, right - std::min(right, k_min_columns));
    JDIMENSION columns = right - left;
    // Moves the left edge to the start of a block column, unless all columns are requested.
    run([&] { jpeg_crop_scanline(&info_, &left, &columns); });
  }
  return {
      .stride = std::size_t{info_.output_width} * 3, .rows = region.height, .offset = std::size_t{region.x - left} * 3};
}

bool JpegDecoder::smooths_blocks() const {
  if (!info_.progressive_mode || info_.coef_bits == nullptr) return false;
  for (int component = 0; component < info_.num_components; ++component) {
    const int* const unknown_bits = info_.coef_bits[component] + 1;
    if (std::any_of(unknown_bits, unknown_bits + k_smoothed_coefficients, [](int bits) { return bits != 0; })) {
      return true;
    }
  }
  return false;
}

void JpegDecoder::read(std::uint8_t* out) {
  run([&] { info_.num_components == 4 ? read_cmyk_rows(out) : read_rgb_rows(out); });
  // All pixels are decoded. The end-of-image marker may still be missing, which Pillow accepts.
  if (end_row_ == info_.output_height && !run_jpeg(errors_, [this] { jpeg_finish_decompress(&info_); }) &&
      errors_.manager.msg_code != JERR_INPUT_EOF) {
    throw_error();
  }
  close();
}

// Moves libjpeg to the region's first row; `out` has room for one row.
void JpegDecoder::skip_rows(JSAMPLE* out) {
  if (!every_row_ && first_row_ > 0) jpeg_skip_scanlines(&info_, first_row_);
  while (info_.output_scanline < first_row_) jpeg_read_scanlines(&info_, &out, 1);
}

void JpegDecoder::read_rgb_rows(JSAMPLE* out) {
  const std::size_t stride = std::size_t{info_.output_width} * 3;
  skip_rows(out);
  while (info_.output_scanline < end_row_) {
    // libjpeg upsamples together all luma rows that share a chroma row.
    JSAMPROW rows[MAX_SAMP_FACTOR];
    const JDIMENSION count = std::min<JDIMENSION>(MAX_SAMP_FACTOR, end_row_ - info_.output_scanline);
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = out + (info_.output_scanline - first_row_ + i) * stride;
    jpeg_read_scanlines(&info_, rows, count);
  }
}

void JpegDecoder::read_cmyk_rows(JSAMPLE* out) {
  auto* const common = reinterpret_cast<j_common_ptr>(&info_);
  const std::size_t width = info_.output_width;
  JSAMPARRAY row = info_.mem->alloc_sarray(common, JPOOL_IMAGE, info_.output_width * 4, 1);
  skip_rows(row[0]);
  while (info_.output_scanline < end_row_) {
    JSAMPLE* to = out + (info_.output_scanline - first_row_) * width * 3;
    jpeg_read_scanlines(&info_, row, 1);
    for (std::size_t x = 0; x < width; ++x) convert_cmyk(row[0] + x * 4, to + x * 3);
  }
}

template <typename Work>
void JpegDecoder::run(const Work& work) {
  if (!run_jpeg(errors_, work)) throw_error();
}

void JpegDecoder::throw_error() const {
  if (errors_.code == ErrorCode::out_of_memory) throw std::bad_alloc();
  const std::string hint = errors_.code == ErrorCode::unsupported ? "convert it to a plain PNG or JPEG" : "";
  throw Error(errors_.code, fmt::format("JPEG: {}", errors_.text), {.hint = hint});
}

}  // namespace bale::image_detail
