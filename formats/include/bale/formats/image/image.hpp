// Images: recognizing, decoding, encoding and resizing them.
//
// Pixels are 8-bit RGB, H x W x 3, rows from top to bottom without padding.
// Threads: pure functions; may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

enum class ImageKind : std::uint8_t { unknown, jpeg, png, bmp, gif, webp, tiff, pnm, array, avif, jxl };

/// "jpeg", "png", ..., "unknown". A literal.
std::string_view image_kind_name(ImageKind kind);

/// Field name for an image of this kind: "jpg", "png", ..., k_array_field, "bin" for `unknown`. A literal.
std::string_view image_field_name(ImageKind kind);

struct ImageHeader {
  ImageKind kind = ImageKind::unknown;
  std::uint32_t width = 0;  // in pixels; 0: the header does not say
  std::uint32_t height = 0;
  std::uint32_t channels = 0;  // components in the file, 3 for a palette; 0: unknown
};

/// Reads the header of an image: kind and size, from the content alone. Kind `unknown` if the bytes are not a known
/// image. A JPEG without a size is one whose header libjpeg refuses too. Never reads past `bytes`. Throws only
/// `std::bad_alloc`.
ImageHeader probe_image(Bytes bytes);

/// Whether width * height exceeds `max_pixels`, so that nothing of bale decodes the image.
constexpr bool is_above_limit(std::uint64_t width, std::uint64_t height, std::uint64_t max_pixels) {
  return width != 0 && height > max_pixels / width;
}
/// Throws `unsupported` if is_above_limit(), `damaged` if a side is 0.
void check_pixel_budget(std::uint64_t width, std::uint64_t height, std::uint64_t max_pixels);

/// Decoded pixels. Owns its memory.
struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb{};  // height * width * 3
};

/// Default limit for decoding: Pillow's MAX_IMAGE_PIXELS times two, above which Pillow refuses an image as a
/// decompression bomb.
inline constexpr std::uint64_t k_default_max_pixels = 178'956'970;

/// Decodes JPEG (gray, YCbCr, RGB, CMYK, YCCK; ISLOW DCT, fancy upsampling), PNG (any depth), WebP, BMP, PNM, TIFF,
/// GIF, and AVIF and JPEG XL if this build has their libraries, to the pixels that Pillow's
/// `Image.open(f).convert("RGB")` gives: the first of several images, without alpha. formats/image/README.md names the
/// exceptions. Corrupt data that libjpeg only warns about is tolerated. A NumPy array of height x width x 3 bytes is
/// copied. Throws `damaged`, also if the bytes end too early, and `unsupported` for other kinds. Throws `unsupported`
/// before it allocates if width * height exceeds `max_pixels`.
Image decode_image(Bytes bytes, std::uint64_t max_pixels = k_default_max_pixels);

/// Decodes at a reduced scale if the codec can (JPEG: 1/2, 1/4, 1/8), with both sides at least `min_side` if the
/// image's are. For thumbnails. Throws what decode_image() throws.
Image decode_thumbnail(Bytes bytes, std::uint32_t min_side);

/// Resizes as Pillow's `Image.resize(size, BILINEAR)`: antialiased triangle filter in fixed-point arithmetic. Throws
/// `invalid_argument` for sizes of 0 or above 2^30 pixels.
Image resize_image(const Image& image, std::uint32_t width, std::uint32_t height);
/// Resizes the shorter side to `size` (torchvision's Resize(size)) and takes the central size x size square
/// (CenterCrop(size)). Throws what resize_short_and_center_crop() throws.
Image resize_and_center_crop(const Image& image, std::uint32_t size);

/// Encodes a baseline JPEG as Pillow's `save(f, "JPEG", quality=quality)` does: libjpeg's standard tables scaled to
/// `quality` (1..100), YCbCr with 4:2:0 subsampling; or, for `gray`, the first channel alone. Throws `invalid_argument`
/// for another quality or an empty image, `unsupported` if libjpeg cannot encode it.
enum class JpegColors : std::uint8_t { color, gray };
std::vector<std::byte> encode_jpeg(const Image& image, int quality, JpegColors colors = JpegColors::color);
/// Name and version of the library behind encode_jpeg(): "libjpeg-turbo 2.1.5". A literal.
std::string_view jpeg_encoder_name();
/// Encodes an 8-bit RGB PNG. Throws `invalid_argument` for an empty image, `unsupported` if libpng cannot encode it.
std::vector<std::byte> encode_png(const Image& image);

/// An 8-bit gray PNG of height x width pixels, row by row. Throws `invalid_argument` for an empty image or another
/// number of pixels, `unsupported` if libpng cannot encode it.
std::vector<std::byte> encode_gray_png(std::uint32_t width, std::uint32_t height, Bytes pixels);

}  // namespace bale
