#include <cstring>

#include <fmt/format.h>

#include "bale/formats/image/codec.hpp"
#include "bale/formats/image/png_guard.hpp"

namespace bale::image_detail {
namespace {

constexpr png_uint_32 k_max_side = 0x7FFFFFFF;  // the PNG format's own limit; the pixel budget is the real one
constexpr png_alloc_size_t k_max_chunk_bytes = 8'000'000;

class PngDecoder {
 public:
  explicit PngDecoder(Bytes bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, on_png_error, on_png_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error(ErrorCode::unsupported, "PNG: libpng cannot start");
    }
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  void read_header() {
    run([this] {
      png_set_read_fn(png_, &rest_, read_bytes);
      png_set_user_limits(png_, k_max_side, k_max_side);
      png_set_chunk_malloc_max(png_, k_max_chunk_bytes);
      // Text, profiles and the like never change a pixel here, and some of them are compressed.
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      png_read_info(png_, info_);
    });
  }
  std::uint32_t width() const { return png_get_image_width(png_, info_); }
  std::uint32_t height() const { return png_get_image_height(png_, info_); }

  Image read_pixels() {
    Image image = make_image(width(), height());
    run([&] { read_rows(image.rgb.data()); });
    return image;
  }

 private:
  // Pillow reads grey of 16 bits as a mode of its own and clips it to 8; every other 16-bit sample
  // loses its low byte.
  bool is_grey_16() const {
    return png_get_bit_depth(png_, info_) == 16 && png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY;
  }

  void read_rows(png_bytep out) {
    const std::size_t width = png_get_image_width(png_, info_);
    const std::uint32_t height = png_get_image_height(png_, info_);
    const bool grey_16 = is_grey_16();
    if (!grey_16) {
      png_set_palette_to_rgb(png_);
      if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
      png_set_strip_16(png_);
      png_set_strip_alpha(png_);
      png_set_gray_to_rgb(png_);
    }
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != width * (grey_16 ? 2 : 3)) png_error(png_, "unexpected row size");
    // Rows of grey take two bytes a pixel and go to the end of their three-byte rows, where they can
    // be widened in place.
    const std::size_t indent = grey_16 ? width : 0;
    for (int pass = 0; pass < passes; ++pass) {
      for (std::uint32_t y = 0; y < height; ++y) png_read_row(png_, out + y * width * 3 + indent, nullptr);
    }
    if (!grey_16) return;
    for (std::uint32_t y = 0; y < height; ++y) widen_grey_16(out + y * width * 3, width);
  }

  static void widen_grey_16(png_bytep row, std::size_t width) {
    for (std::size_t x = 0; x < width; ++x) {
      const png_const_bytep sample = row + width + x * 2;  // big-endian
      const png_byte value = sample[0] != 0 ? png_byte{255} : sample[1];
      row[x * 3] = row[x * 3 + 1] = row[x * 3 + 2] = value;
    }
  }

  static void read_bytes(png_structp png, png_bytep out, std::size_t length) {
    Bytes& rest = *static_cast<Bytes*>(png_get_io_ptr(png));
    if (length > rest.size()) png_error(png, "image data ends too early");
    std::memcpy(out, rest.data(), length);
    rest = rest.subspan(length);
  }

  template <typename Work>
  void run(const Work& work) {
    if (!run_png(errors_, work)) throw Error(ErrorCode::damaged, fmt::format("PNG: {}", errors_.text));
  }

  PngErrors errors_{};
  Bytes rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Image decode_png(Bytes bytes, std::uint64_t max_pixels) {
  // The size is asked before libpng is, which allocates by it.
  const ImageHeader header = probe_image(bytes);
  check_pixel_budget(header.width, header.height, max_pixels);
  PngDecoder decoder(bytes);
  decoder.read_header();
  check_pixel_budget(decoder.width(), decoder.height(), max_pixels);
  return decoder.read_pixels();
}

}  // namespace bale::image_detail
