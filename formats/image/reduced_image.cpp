#include "bale/formats/image/reduced_image.hpp"

#include <algorithm>

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"

namespace bale {

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
