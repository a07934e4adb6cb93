#include <exception>
#include <span>

#include <fmt/format.h>

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"
#include "bale/formats/image/png/png_decoder.hpp"

namespace bale {
namespace {

using image_detail::JpegCompressor;
using image_detail::PngErrors;
using image_detail::run_png;

std::vector<std::byte> compress(const Image& image, int quality, JpegColors colors) {
  const int components = colors == JpegColors::gray ? 1 : 3;
  std::vector<JSAMPLE> gray;
  if (components == 1) {
    gray.resize(image.rgb.size() / 3);
    for (std::size_t i = 0; i < gray.size(); ++i) gray[i] = image.rgb[i * 3];
  }
  const JSAMPLE* const samples = components == 1 ? gray.data() : image.rgb.data();
  const std::size_t stride = std::size_t{image.width} * static_cast<std::size_t>(components);
  return JpegCompressor().write([&](jpeg_compress_struct& info) {
    info.image_width = image.width;
    info.image_height = image.height;
    info.input_components = components;
    info.in_color_space = components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);  // YCbCr, chroma halved in both directions
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      // libjpeg takes rows that are not const, but only reads them.
      JSAMPROW row = const_cast<JSAMPROW>(samples) + info.next_scanline * stride;
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
}

class PngEncoder {
 public:
  PngEncoder() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors_, image_detail::on_png_error,
                                   image_detail::on_png_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw Error(ErrorCode::unsupported, "PNG: libpng cannot start");
    }
  }
  ~PngEncoder() { png_destroy_write_struct(&png_, &info_); }
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;

  /// `pixels` are rows of one or three channels.
  std::vector<std::byte> encode(std::uint32_t width, std::uint32_t height, Bytes pixels) {
    if (!run_png(errors_, [&] { write(width, height, pixels); })) {
      throw Error(ErrorCode::unsupported, fmt::format("PNG: {}", errors_.text));
    }
    return std::move(out_);
  }

 private:
  void write(std::uint32_t width, std::uint32_t height, Bytes pixels) {
    const std::size_t stride = pixels.size() / height;
    const int color = stride == width ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB;
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_write_fn(png_, &out_, append, [](png_structp) {});
    png_set_IHDR(png_, info_, width, height, 8, color, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    const auto* const first = reinterpret_cast<png_const_bytep>(pixels.data());
    for (std::size_t y = 0; y < height; ++y) png_write_row(png_, first + y * stride);
    png_write_end(png_, info_);
  }

  // A C++ exception must not cross libpng's frames.
  static bool try_append(std::vector<std::byte>& out, png_const_bytep data, std::size_t length) noexcept {
    try {
      const auto* first = reinterpret_cast<const std::byte*>(data);
      out.insert(out.end(), first, first + length);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
  static void append(png_structp png, png_bytep data, std::size_t length) {
    if (!try_append(*static_cast<std::vector<std::byte>*>(png_get_io_ptr(png)), data, length)) {
      png_error(png, "out of memory");
    }
  }

  PngErrors errors_{};
  std::vector<std::byte> out_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

#define BALE_TEXT_OF(value) #value
#define BALE_VALUE_TEXT(value) BALE_TEXT_OF(value)

std::string_view jpeg_encoder_name() { return "libjpeg-turbo " BALE_VALUE_TEXT(LIBJPEG_TURBO_VERSION); }

std::vector<std::byte> encode_jpeg(const Image& image, int quality, JpegColors colors) {
  image_detail::check_pixels(image);
  if (quality < 1 || quality > 100) {
    throw Error(ErrorCode::invalid_argument, fmt::format("JPEG quality {} is not within 1..100", quality));
  }
  return compress(image, quality, colors);
}

std::vector<std::byte> encode_png(const Image& image) {
  image_detail::check_pixels(image);
  return PngEncoder().encode(image.width, image.height, std::as_bytes(std::span(image.rgb)));
}

std::vector<std::byte> encode_gray_png(std::uint32_t width, std::uint32_t height, Bytes pixels) {
  if (width == 0 || height == 0 || pixels.size() != std::uint64_t{width} * height) {
    throw Error(ErrorCode::invalid_argument, "an image without pixels, or with another number of them");
  }
  return PngEncoder().encode(width, height, pixels);
}

}  // namespace bale
