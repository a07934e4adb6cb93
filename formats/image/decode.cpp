#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/image/codec.hpp"

namespace bale {
namespace image_detail {

void check_pixel_budget(std::uint64_t width, std::uint64_t height, std::uint64_t max_pixels) {
  if (width == 0 || height == 0) throw Error(ErrorCode::damaged, fmt::format("image of {}x{} pixels", width, height));
  if (width > max_pixels / height) {
    throw Error(ErrorCode::unsupported,
                fmt::format("image of {}x{} pixels is above the limit of {} pixels", width, height, max_pixels));
  }
}

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

namespace {

Image decode(Bytes bytes, std::uint64_t max_pixels, std::uint32_t min_side) {
  if (bytes.empty()) throw Error(ErrorCode::damaged, "no image: 0 bytes");
  const ImageHeader header = probe_image(bytes);
  switch (header.kind) {
    case ImageKind::jpeg:
      return decode_jpeg(bytes, max_pixels, min_side);
    case ImageKind::png:
      return decode_png(bytes, max_pixels);
    case ImageKind::unknown:
      throw Error(ErrorCode::unsupported, "not an image of a known kind");
    default:
      throw Error(ErrorCode::unsupported,
                  fmt::format("decoding {} images is not supported; JPEG and PNG are", image_kind_name(header.kind)));
  }
}

}  // namespace
}  // namespace image_detail

Image decode_image(Bytes bytes, std::uint64_t max_pixels) { return image_detail::decode(bytes, max_pixels, 0); }

Image decode_thumbnail(Bytes bytes, std::uint32_t min_side) {
  return image_detail::decode(bytes, k_default_max_pixels, std::max(min_side, 1u));
}

}  // namespace bale
