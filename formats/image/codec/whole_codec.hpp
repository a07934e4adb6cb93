// The codecs that decode whole images only, one folder each: BMP, PNM, GIF, WebP, TIFF, AVIF, JPEG XL; internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::image_detail {

/// Pure functions; may be called from any thread.
struct WholeCodec {
  /// Reads the header. The size is that of the decoded pixels. Throws `damaged` or `unsupported`, the latter also if
  /// the image, or memory that decoding needs for it, exceeds `max_pixels`.
  ImageHeader (*open)(Bytes bytes, std::uint64_t max_pixels);
  /// Fills width * height * 3 bytes for an image that open() accepted. Throws `damaged` or `unsupported`, and may then
  /// have filled a part.
  void (*decode)(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgb);
  /// Whether the image is complete, as far as this shows without decoding; false if it does not show. Throws only
  /// `std::bad_alloc`.
  bool (*has_end)(Bytes bytes);
  /// The same as decode(), but width * height * 4 bytes with alpha. nullptr: all images of this kind are opaque.
  void (*decode_rgba)(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgba) = nullptr;
  /// The same for images of 16-bit gray: width * height values. Throws `unsupported` for others. nullptr: none are.
  void (*decode_gray_16)(Bytes bytes, std::uint64_t max_pixels, std::uint16_t* values) = nullptr;
  /// The orientation, 1..8, that decode() does not apply, and Pillow's ImageOps.exif_transpose() does. Throws like
  /// open(). nullptr: images of this kind state none, or decode() applies it (TIFF, JPEG XL).
  int (*orientation)(Bytes bytes) = nullptr;
};

/// For an image that is not one of 16-bit gray.
[[noreturn]] void fail_not_gray_16();

/// nullptr if images of this kind are decoded in another way, or not by this build.
const WholeCodec* whole_codec(ImageKind kind);

/// The library that decodes images of this kind, if this build has been made without it: "libavif". Else empty.
std::string_view missing_library(ImageKind kind);

/// One color of a palette.
struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

inline void put(std::uint8_t* pixel, Rgb color) {
  pixel[0] = color.red;
  pixel[1] = color.green;
  pixel[2] = color.blue;
}

inline Rgb gray(std::uint8_t value) { return {value, value, value}; }

/// What `test` returns; false if it throws an Error.
template <typename Test>
bool holds(const Test& test) {
  try {
    return test();
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] inline void fail_image(ErrorCode code, std::string_view what) { throw Error(code, what); }

extern const WholeCodec k_avif_codec;  // the first frame, with libavif
extern const WholeCodec k_bmp_codec;
extern const WholeCodec k_gif_codec;   // the first frame
extern const WholeCodec k_jxl_codec;   // the first frame, with libjxl
extern const WholeCodec k_pnm_codec;   // PBM, PGM and PPM
extern const WholeCodec k_tiff_codec;  // the first image, with libtiff
extern const WholeCodec k_webp_codec;  // the first frame, with libwebp

}  // namespace bale::image_detail
