#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/png/png_decoder.hpp"
#include "bale/formats/image/reduced_image.hpp"

namespace bale {

void check_pixel_budget(std::uint64_t width, std::uint64_t height, std::uint64_t max_pixels) {
  if (width == 0 || height == 0) throw Error(ErrorCode::damaged, fmt::format("image of {}x{} pixels", width, height));
  if (is_above_limit(width, height, max_pixels)) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("image of {}x{} pixels is above the limit of {} pixels (`max_pixels`)", width, height, max_pixels));
  }
}

namespace image_detail {

void check_pixels(const Image& image) {
  const std::uint64_t expected = std::uint64_t{image.width} * image.height;
  if (expected == 0 || image.rgb.size() % 3 != 0 || image.rgb.size() / 3 != expected) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("image of {}x{} pixels with {} bytes of RGB", image.width, image.height, image.rgb.size()));
  }
}

Image make_image(std::uint32_t width, std::uint32_t height) {
  Image image{.width = width, .height = height};
  image.rgb.resize(std::size_t{width} * height * 3);
  return image;
}

ImageKind decodable_kind(Bytes bytes, std::uint64_t max_pixels) {
  if (bytes.empty()) throw Error(ErrorCode::damaged, "no image: 0 bytes");
  const ImageHeader header = probe_image(bytes);
  switch (header.kind) {
    case ImageKind::jpeg:
      break;
    case ImageKind::array:
      array_pixels_offset(bytes);  // reports what is wrong with an array that is not an image
      check_pixel_budget(header.width, header.height, max_pixels);
      break;
    case ImageKind::png:
      check_pixel_budget(header.width, header.height, max_pixels);
      break;
    case ImageKind::unknown:
      throw Error(ErrorCode::unsupported, "not an image of a known kind");
    default:
      if (whole_codec(header.kind) != nullptr) break;  // it knows the size better
      throw Error(ErrorCode::unsupported, fmt::format("decoding {} images needs {}, without which bale was built",
                                                      image_kind_name(header.kind), missing_library(header.kind)));
  }
  return header.kind;
}

namespace {

template <typename Decoder>
Image read_whole(Decoder& decoder, Image image) {
  decoder.start({.width = image.width, .height = image.height});
  decoder.read(image.rgb.data());
  return image;
}

Image decode(Bytes bytes, std::uint64_t max_pixels, std::uint32_t min_side) {
  const ImageKind kind = decodable_kind(bytes, max_pixels);
  if (kind == ImageKind::array) {
    const Bytes pixels = bytes.subspan(array_pixels_offset(bytes));
    const ImageHeader header = probe_array(bytes);
    return {
        .width = header.width, .height = header.height, .rgb = {as_uchar(pixels), as_uchar(pixels) + pixels.size()}};
  }
  if (kind == ImageKind::png) {
    PngDecoder decoder;
    decoder.open(bytes);
    check_pixel_budget(decoder.width(), decoder.height(), max_pixels);
    return read_whole(decoder, make_image(decoder.width(), decoder.height()));
  }
  if (const WholeCodec* const codec = whole_codec(kind)) {
    const ImageHeader header = codec->open(bytes, max_pixels);
    Image image = make_image(header.width, header.height);
    codec->decode(bytes, max_pixels, image.rgb.data());
    return image;
  }
  JpegDecoder decoder;
  decoder.open(bytes);
  check_pixel_budget(decoder.width(), decoder.height(), max_pixels);
  if (min_side > 0) decoder.scale_down(min_side);
  Image image = make_image(decoder.width(), decoder.height());
  const auto baseline = std::make_unique<BaselineDecoder>();  // too large for the stack
  const Region whole = {.width = image.width, .height = image.height};
  // A failure may leave wrong pixels; libjpeg then writes all of them.
  if (baseline->decode(decoder.info(), whole, {}, image.rgb.data())) return image;
  return read_whole(decoder, std::move(image));
}

}  // namespace
}  // namespace image_detail

Image decode_image(Bytes bytes, std::uint64_t max_pixels) { return image_detail::decode(bytes, max_pixels, 0); }

Image decode_thumbnail(Bytes bytes, std::uint32_t min_side) {
  return image_detail::decode(bytes, k_default_max_pixels, std::max(min_side, 1u));
}

ReducedImage decode_reduced(Bytes bytes, std::uint32_t min_side, std::uint64_t max_pixels) {
  ReducedImage reduced;
  if (image_detail::decodable_kind(bytes, max_pixels) != ImageKind::jpeg) {
    reduced.image = decode_image(bytes, max_pixels);
    reduced.width = reduced.full_width = reduced.image.width;
    reduced.height = reduced.full_height = reduced.image.height;
    return reduced;
  }
  image_detail::JpegDecoder decoder;
  decoder.open(bytes);
  reduced.full_width = decoder.width();
  reduced.full_height = decoder.height();
  check_pixel_budget(reduced.full_width, reduced.full_height, max_pixels);
  decoder.scale_down(std::max(min_side, 1u));
  reduced.image = image_detail::make_image(decoder.width(), decoder.height());
  reduced.width = reduced.full_width * decoder.scale();
  reduced.height = reduced.full_height * decoder.scale();
  decoder.start({.width = decoder.width(), .height = decoder.height()});
  decoder.read(reduced.image.rgb.data());
  reduced.has_defects = decoder.has_warnings();
  return reduced;
}

}  // namespace bale
