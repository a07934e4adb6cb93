// PngDecoder: decodes a rectangle of a PNG with libpng; internal. For one thread at a time.
#pragma once

#include <array>
#include <csetjmp>
#include <optional>

#include <png.h>

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/pixel_mode.hpp"

namespace bale::image_detail {

// libpng's errors turned into `bale::Error`; internal. The only header that includes png.h.
//
// The same rule as in jpeg_guard.hpp: an error leaves libpng by longjmp back into `run_png`, so code that runs there
// must not hold an object with a destructor.

inline constexpr png_uint_32 k_max_png_side =
    0x7FFFFFFF;  // the format's own limit; the pixel budget is the effective one
inline constexpr png_alloc_size_t k_max_png_chunk_bytes = 8'000'000;

struct PngErrors {
  std::jmp_buf jump{};
  char text[128]{};
};

/// libpng's error callback; its pointer is a PngErrors.
[[noreturn]] void on_png_error(png_structp png, png_const_charp text);
/// Warnings are ignored.
void on_png_warning(png_structp png, png_const_charp text);

/// libpng's way to the bytes of a file; its pointer is to those that are left.
void read_png_bytes(png_structp png, png_bytep out, std::size_t length);

/// Runs `work`, which calls libpng. False if it ended with an error, which is in `errors`.
template <typename Work>
bool run_png(PngErrors& errors, const Work& work) {
  if (setjmp(errors.jump) != 0) return false;
  work();
  return true;
}

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
