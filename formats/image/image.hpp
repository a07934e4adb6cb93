// Images: what kind and size the bytes are, decoding, encoding, resizing.
//
// Pixels are 8-bit RGB, row-major, H x W x 3, no padding between rows. libjpeg-turbo and libpng stay
// inside this folder. Every function is free of shared state and safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bale/formats/core/bytes.hpp"

namespace bale {

enum class ImageKind : std::uint8_t { unknown, jpeg, png, bmp, gif, webp, tiff, pnm, array };

std::string_view image_kind_name(ImageKind kind);

/// Field name for an image of this kind: "jpg", "png", ..., k_array_field; "bin" for `unknown`.
std::string_view image_field_name(ImageKind kind);

struct ImageHeader {
  ImageKind kind = ImageKind::unknown;
  std::uint32_t width = 0;  // 0 where the header does not tell
  std::uint32_t height = 0;
  std::uint32_t channels = 0;  // components in the file, 3 for a palette; 0 where unknown
};

/// Reads the header only, never past `bytes`; kind `unknown` if it is no image that we know. Kind and size come from
/// the content; names are not asked. A JPEG without a size is one whose header libjpeg refuses too.
ImageHeader probe_image(Bytes bytes);

/// Throws `unsupported` for an image of more than `max_pixels`, `damaged` for one without pixels.
void check_pixel_budget(std::uint64_t width, std::uint64_t height, std::uint64_t max_pixels);

/// Decoded pixels; a value that owns its memory.
struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb{};  // height * width * 3
};

/// The limit of every program and function that decodes images, unless it is given another one: Pillow's own bound
/// against decompression bombs.
inline constexpr std::uint64_t k_default_max_pixels = 178'956'970;

/// Decodes JPEG (grey, YCbCr, RGB, CMYK, YCCK; ISLOW, fancy upsampling) or PNG (any depth, palette, grey,
/// alpha dropped) to what Pillow's `Image.open(f).convert("RGB")` gives: bytes that end too early are
/// `damaged`, flaws that libjpeg only warns about are passed over. A NumPy array of height x width x 3 bytes is
/// decoded already, and copied. Throws `damaged` or `unsupported`, and `unsupported` before allocating where
/// width * height exceeds `max_pixels`.
Image decode_image(Bytes bytes, std::uint64_t max_pixels = k_default_max_pixels);

/// Decodes at a reduced scale where the codec can (JPEG: 1/2, 1/4, 1/8), both sides still at least
/// `min_side`: for thumbnails.
Image decode_thumbnail(Bytes bytes, std::uint32_t min_side);

/// Antialiased triangle filter in Pillow's fixed-point arithmetic (`Image.resize(size, BILINEAR)`).
Image resize_image(const Image& image, std::uint32_t width, std::uint32_t height);
/// Short side to `size` (torchvision Resize(size)), then the central size x size square (CenterCrop).
Image resize_and_center_crop(const Image& image, std::uint32_t size);

/// Baseline JPEG, libjpeg's standard tables scaled to `quality` (1..100): YCbCr with chroma halved both ways, or the
/// first channel alone. Pillow's `save(f, "JPEG", quality=quality)` gives the same bytes.
enum class JpegColours : std::uint8_t { colour, grey };
std::vector<std::byte> encode_jpeg(const Image& image, int quality, JpegColours colours = JpegColours::colour);
/// What encode_jpeg() is: "libjpeg-turbo 2.1.5".
std::string_view jpeg_encoder_name();
std::vector<std::byte> encode_png(const Image& image);

}  // namespace bale
