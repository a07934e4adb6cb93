#include "bale/formats/image/png/png_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/codec/codec.hpp"

namespace bale::image_detail {
namespace {

// Samples are big-endian and fill the end of the row. Pillow reads 16-bit gray as a separate mode and clips it to 8
// bits.
void widen_gray_16(png_bytep row, std::size_t width, std::size_t pixel_bytes) {
  for (std::size_t x = 0; x < width; ++x) {
    const png_const_bytep sample = row + width * (pixel_bytes - 2) + x * 2;
    const png_byte value = sample[0] != 0 ? png_byte{255} : sample[1];
    png_bytep const pixel = row + x * pixel_bytes;
    pixel[0] = pixel[1] = pixel[2] = value;
    if (pixel_bytes == 4) pixel[3] = 255;
  }
}

}  // namespace

void PngDecoder::open(Bytes bytes) {
  close();
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, on_png_error, on_png_warning);
  if (png_ != nullptr) info_ = png_create_info_struct(png_);
  if (info_ == nullptr) throw Error(ErrorCode::unsupported, "PNG: libpng cannot start");
  rest_ = bytes;
  run([this] {
    png_set_read_fn(png_, &rest_, read_png_bytes);
    png_set_user_limits(png_, k_max_png_side, k_max_png_side);
    png_set_chunk_malloc_max(png_, k_max_png_chunk_bytes);
    // Text, profiles and similar chunks never change a pixel here, and some of them are compressed.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
  });
}

void PngDecoder::close() { png_destroy_read_struct(&png_, &info_, nullptr); }

std::uint32_t PngDecoder::channels() const {
  return png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE ? 3u : png_get_channels(png_, info_);
}

bool PngDecoder::is_gray_16() const {
  return png_get_bit_depth(png_, info_) == 16 && png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY;
}

RegionLayout PngDecoder::start(const Region& region, PixelMode mode) {
  mode_ = mode;
  run([this] { prepare_rows(); });
  const std::size_t stride = std::size_t{width()} * mode_bytes(mode);
  const bool interlaced = passes_ > 1;
  first_row_ = interlaced ? 0 : region.y;
  end_row_ = interlaced ? height() : region.y + region.height;
  return {.stride = stride,
          .rows = end_row_ - first_row_,
          .offset = (region.y - first_row_) * stride + std::size_t{region.x} * mode_bytes(mode)};
}

void PngDecoder::prepare_rows() {
  clips_gray_16_ = is_gray_16() && mode_ != PixelMode::gray_16;
  transparent_.reset();
  if (mode_ == PixelMode::gray_16) {
    if constexpr (std::endian::native == std::endian::little) png_set_swap(png_);
  } else if (is_gray_16()) {
    if (mode_ == PixelMode::rgba) find_transparent_color();
  } else {
    if (mode_ == PixelMode::rgba) {
      png_set_add_alpha(png_, 0xFF, PNG_FILLER_AFTER);
      find_transparent_color();
    }
    const png_byte type = png_get_color_type(png_, info_);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);  // and its transparency to alpha
    if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);  // other 16-bit samples lose their low byte, as in Pillow
    if (mode_ == PixelMode::rgb) png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
  }
  passes_ = png_set_interlace_handling(png_);
  png_read_update_info(png_, info_);
  if (png_get_rowbytes(png_, info_) != std::size_t{width()} * (is_gray_16() ? 2 : mode_bytes(mode_))) {
    png_error(png_, "unexpected row size");
  }
}

/// A transparent color that is not in a palette is compared by Pillow with the pixels as it reads them: the low byte of
/// the file's number, unscaled but for 1 bit, with samples of 8 bits.
void PngDecoder::find_transparent_color() {
  png_color_16p color = nullptr;
  const png_byte type = png_get_color_type(png_, info_);
  if ((type & PNG_COLOR_MASK_PALETTE) != 0 || png_get_tRNS(png_, info_, nullptr, nullptr, &color) == 0) return;
  const bool is_bit = png_get_bit_depth(png_, info_) == 1;
  const auto low = [](png_uint_16 value) { return static_cast<png_byte>(value & 0xFF); };
  const png_byte gray = is_bit ? static_cast<png_byte>(color->gray != 0 ? 255 : 0) : low(color->gray);
  transparent_ = type == PNG_COLOR_TYPE_GRAY ? std::array{gray, gray, gray}
                                             : std::array{low(color->red), low(color->green), low(color->blue)};
}

void PngDecoder::read(std::uint8_t* out) {
  run([&] { read_rows(out); });
  close();
}

void PngDecoder::read_rows(png_bytep out) {
  // Rows of 16-bit gray take two bytes per pixel. If they get more, they go to the end and are widened in place.
  const std::size_t stride = std::size_t{width()} * mode_bytes(mode_);
  const std::size_t indent = clips_gray_16_ ? stride - std::size_t{width()} * 2 : 0;
  for (std::uint32_t y = 0; y < first_row_; ++y) png_read_row(png_, nullptr, nullptr);
  for (int pass = 0; pass < passes_; ++pass) {
    for (std::uint32_t y = first_row_; y < end_row_; ++y) {
      png_read_row(png_, out + (y - first_row_) * stride + indent, nullptr);
    }
  }
  for (std::uint32_t y = first_row_; y < end_row_; ++y) finish_row(out + (y - first_row_) * stride);
}

void PngDecoder::finish_row(png_bytep row) const {
  if (clips_gray_16_) widen_gray_16(row, width(), mode_bytes(mode_));
  if (!transparent_) return;
  for (std::uint32_t x = 0; x < width(); ++x, row += 4) {
    if (std::equal(transparent_->begin(), transparent_->end(), row)) row[3] = 0;
  }
}

void read_png_bytes(png_structp png, png_bytep out, std::size_t length) {
  Bytes& rest = *static_cast<Bytes*>(png_get_io_ptr(png));
  if (length > rest.size()) png_error(png, "image data ends too early");
  std::memcpy(out, rest.data(), length);
  rest = rest.subspan(length);
}

template <typename Work>
void PngDecoder::run(const Work& work) {
  if (!run_png(errors_, work)) fail_as_library_says("PNG", errors_.text);
}

void on_png_error(png_structp png, png_const_charp text) {
  auto& errors = *static_cast<PngErrors*>(png_get_error_ptr(png));
  std::strncpy(errors.text, text, sizeof(errors.text) - 1);
  std::longjmp(errors.jump, 1);
}

void on_png_warning(png_structp, png_const_charp) {}

}  // namespace bale::image_detail
