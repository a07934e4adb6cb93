// PngDecoder: decodes a rectangle of a PNG with libpng; internal. For one thread at a time.
#pragma once

#include <array>
#include <optional>

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/pixel_mode.hpp"
#include "bale/formats/image/png/png_guard.hpp"

namespace bale::image_detail {

class PngDecoder {
 public:
  PngDecoder() = default;
  ~PngDecoder() { close(); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  /// Reads the header. `bytes` must outlive read().
  void open(Bytes bytes);
  std::uint32_t width() const { return png_get_image_width(png_, info_); }
  std::uint32_t height() const { return png_get_image_height(png_, info_); }
  std::uint32_t channels() const;
  /// Whether Pillow reads it as 16-bit gray.
  bool is_gray_16() const;

  /// Prepares to read a region inside the image: rows in their full width, and all of them if the file is interlaced.
  /// `mode` is rgb, rgba, or gray_16 if is_gray_16().
  RegionLayout start(const Region& region, PixelMode mode = PixelMode::rgb);
  /// Fills the memory that start() described, and frees libpng's memory.
  void read(std::uint8_t* out);
  void close();

 private:
  void prepare_rows();
  void find_transparent_color();
  void read_rows(png_bytep out);
  void finish_row(png_bytep row) const;
  static void read_bytes(png_structp png, png_bytep out, std::size_t length);
  template <typename Work>
  void run(const Work& work);

  PngErrors errors_{};
  Bytes rest_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PixelMode mode_ = PixelMode::rgb;
  bool clips_gray_16_ = false;                            // rows of 16-bit gray become 8-bit pixels
  std::optional<std::array<png_byte, 3>> transparent_{};  // the color of pixels that have alpha 0
  int passes_ = 1;
  std::uint32_t first_row_ = 0;  // of the rows that are kept
  std::uint32_t end_row_ = 0;
};

}  // namespace bale::image_detail
