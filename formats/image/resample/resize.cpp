// Resizes whole images that own their pixels, with Resizer.
#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/resample/resizer.hpp"

namespace bale {
namespace {

Image resize(const Image& image, const ResizeSpec& spec) {
  const Region needs = resize_needs(spec);
  const std::size_t stride = std::size_t{image.width} * 3;
  const PixelView source{image.rgb.data() + needs.y * stride + std::size_t{needs.x} * 3, stride, needs.width,
                         needs.height};
  Image out = image_detail::make_image(spec.window.width, spec.window.height);
  Resizer().run(spec, source, out.rgb.data(), std::size_t{out.width} * 3);
  return out;
}

}  // namespace

Image resize_image(const Image& image, std::uint32_t width, std::uint32_t height) {
  image_detail::check_pixels(image);
  return resize(image, resize_whole(image.width, image.height, width, height));
}

Image resize_and_center_crop(const Image& image, std::uint32_t size) {
  image_detail::check_pixels(image);
  return resize(image, resize_short_and_center_crop(image.width, image.height, size, size, size));
}

}  // namespace bale
