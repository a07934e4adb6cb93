#include <algorithm>
#include <memory>

#include <avif/avif.h>
#include <fmt/format.h>

#include "bale/formats/base/system/lazy_library.hpp"
#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale_lazy_avif.hpp"

// The functions of libavif that bale calls, which open it; internal.

#ifdef BALE_LAZY_AVIF

namespace bale::image_detail {

inline constinit LazyLibrary avif_library{BALE_LAZY_AVIF};

// clang-format off
#define BALE_AVIF(name) BALE_LAZY_FUNCTION(avif_library, name)
BALE_AVIF(avifDecoderCreate) BALE_AVIF(avifDecoderDestroy) BALE_AVIF(avifDecoderNextImage) BALE_AVIF(avifDecoderParse)
BALE_AVIF(avifDecoderSetIOMemory) BALE_AVIF(avifImageYUVToRGB) BALE_AVIF(avifRGBImageSetDefaults)
BALE_AVIF(avifResultToString)
#undef BALE_AVIF
// clang-format on

}  // namespace bale::image_detail

#endif

namespace bale::image_detail {
namespace {

struct DeleteDecoder {
  void operator()(avifDecoder* decoder) const { avifDecoderDestroy(decoder); }
};
using Decoder = std::unique_ptr<avifDecoder, DeleteDecoder>;

void require(avifResult result) {
  if (result == AVIF_RESULT_OK) return;
  if (result == AVIF_RESULT_OUT_OF_MEMORY) throw std::bad_alloc();
  // HEIC has the same boxes and no AV1.
  const bool unsupported = result == AVIF_RESULT_NO_CODEC_AVAILABLE || result == AVIF_RESULT_NOT_IMPLEMENTED ||
                           result == AVIF_RESULT_UNSUPPORTED_DEPTH || result == AVIF_RESULT_NO_AV1_ITEMS_FOUND ||
                           result == AVIF_RESULT_INVALID_FTYP;
  throw Error(unsupported ? ErrorCode::unsupported : ErrorCode::damaged,
              fmt::format("AVIF: {}", avifResultToString(result)),
              {.hint = unsupported ? "convert it to a plain PNG or JPEG" : ""});
}

/// libavif refuses an image above the limit when it reads the header, without saying so: the size is compared here too.
Decoder parse(Bytes bytes, std::uint64_t max_pixels) {
  Decoder decoder(avifDecoderCreate());
  if (decoder == nullptr) throw std::bad_alloc();
  decoder->maxThreads = 1;
  decoder->ignoreExif = AVIF_TRUE;
  decoder->ignoreXMP = AVIF_TRUE;
  // Files of older programs, which Pillow accepts as well.
  decoder->strictFlags &= ~static_cast<avifStrictFlags>(AVIF_STRICT_CLAP_VALID | AVIF_STRICT_PIXI_REQUIRED);
  decoder->imageSizeLimit = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(max_pixels, 1, std::uint64_t{AVIF_DEFAULT_IMAGE_SIZE_LIMIT}));
  require(avifDecoderSetIOMemory(decoder.get(), as_uchar(bytes), bytes.size()));
  require(avifDecoderParse(decoder.get()));
  check_pixel_budget(decoder->image->width, decoder->image->height, max_pixels);
  return decoder;
}

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const Decoder decoder = parse(bytes, max_pixels);
  return {.kind = ImageKind::avif,
          .width = decoder->image->width,
          .height = decoder->image->height,
          .channels = decoder->alphaPresent != AVIF_FALSE ? 4u : 3u};
}

void convert(const avifImage* image, avifRGBFormat format, std::uint32_t pixel_bytes, std::uint8_t* pixels) {
  avifRGBImage out;
  avifRGBImageSetDefaults(&out, image);
  out.depth = 8;
  out.format = format;
  out.pixels = pixels;
  out.rowBytes = image->width * pixel_bytes;
  require(avifImageYUVToRGB(image, &out));
}

/// The decoder with its first image.
Decoder decode_first(Bytes bytes, std::uint64_t max_pixels) {
  Decoder decoder = parse(bytes, max_pixels);
  const std::uint32_t width = decoder->image->width;
  const std::uint32_t height = decoder->image->height;
  require(avifDecoderNextImage(decoder.get()));
  if (decoder->image->width != width || decoder->image->height != height) {
    fail_image(ErrorCode::damaged, "AVIF: the header and the image have different sizes");
  }
  return decoder;
}

/// Without alpha by way of RGB, as Pillow does: libavif may convert to the two with other arithmetic.
void decode_rgba(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgba) {
  const Decoder decoder = decode_first(bytes, max_pixels);
  if (decoder->alphaPresent != AVIF_FALSE) return convert(decoder->image, AVIF_RGB_FORMAT_RGBA, 4, rgba);
  const std::size_t num_pixels = std::size_t{decoder->image->width} * decoder->image->height;
  const auto rgb = std::make_unique<std::uint8_t[]>(num_pixels * 3);
  convert(decoder->image, AVIF_RGB_FORMAT_RGB, 3, rgb.get());
  for (std::size_t i = 0; i < num_pixels; ++i) {
    put(rgba + i * 4, {rgb[i * 3], rgb[i * 3 + 1], rgb[i * 3 + 2]});
    rgba[i * 4 + 3] = 255;
  }
}

void decode(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgb) {
  const Decoder decoder = decode_first(bytes, max_pixels);
  if (decoder->alphaPresent == AVIF_FALSE) return convert(decoder->image, AVIF_RGB_FORMAT_RGB, 3, rgb);
  // Without a place for alpha libavif would blend with black.
  const std::size_t num_pixels = std::size_t{decoder->image->width} * decoder->image->height;
  const auto rgba = std::make_unique<std::uint8_t[]>(num_pixels * 4);
  convert(decoder->image, AVIF_RGB_FORMAT_RGBA, 4, rgba.get());
  for (std::size_t i = 0; i < num_pixels; ++i) put(rgb + i * 3, {rgba[i * 4], rgba[i * 4 + 1], rgba[i * 4 + 2]});
}

/// Pillow goes by the boxes irot (turned against the clock, first) and imir, and not by EXIF.
int orientation(Bytes bytes) {
  const Decoder decoder = parse(bytes, AVIF_DEFAULT_IMAGE_SIZE_LIMIT);
  const avifImage& image = *decoder->image;
#if AVIF_VERSION >= 1000000
  const int axis = image.imir.axis;
#else
  const int axis = image.imir.mode;
#endif
  const int turns = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle : 0;
  constexpr int k_turned[] = {1, 8, 3, 6};
  constexpr int k_mirrored[2][4] = {{4, 5, 2, 7}, {2, 7, 4, 5}};  // by axis: top and bottom, left and right
  return (image.transformFlags & AVIF_TRANSFORM_IMIR) != 0 ? k_mirrored[axis & 1][turns & 3] : k_turned[turns & 3];
}

}  // namespace

const WholeCodec k_avif_codec{open, decode, boxes_have_end, decode_rgba, nullptr, orientation};

}  // namespace bale::image_detail
