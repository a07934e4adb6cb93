#include "bale/formats/image/image_check.hpp"

#include <limits>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/metadata/image_pieces.hpp"
#include "bale/formats/image/signature.hpp"

namespace bale {
namespace {

/// Throws if the header cannot be decoded.
bool has_end(Bytes image, ImageKind kind) {
  if (kind == ImageKind::array) {
    image_detail::array_pixels_offset(image);
    return true;
  }
  if (kind == ImageKind::png) return image_detail::pieces_have_end(image);
  if (const image_detail::WholeCodec* const codec = image_detail::whole_codec(kind)) {
    if (!codec->has_end(image)) return false;
    codec->open(image, std::numeric_limits<std::uint64_t>::max());  // the limit is not for this check to apply
    return true;
  }
  if (const auto scan = image_detail::plain_jpeg_scan(image)) return image_detail::jpeg_scan_has_end(*scan);
  image_detail::JpegDecoder decoder;
  decoder.open(image);
  // A file with many scans may lack some of them and still have an end marker. It is accepted.
  return decoder.reads_all_scans() ? image_detail::pieces_have_end(image)
                                   : image_detail::jpeg_scan_has_end(decoder.scan());
}

}  // namespace

ImageFacts check_image(Bytes image, ImageCheck check, std::uint64_t max_pixels) {
  const ImageHeader header = probe_image(image);
  ImageFacts facts{.width = header.width, .height = header.height};
  const bool is_other = !can_decode(header.kind) || (header.kind == ImageKind::array && header.width == 0);
  if (is_other && check == ImageCheck::quick) return facts;
  bool complete = true;
  try {
    complete = is_other || has_end(image, header.kind);
    if (!complete || check == ImageCheck::decode) decode_image(image, max_pixels);
    facts.condition = ImageCondition::complete;
  } catch (const Error& error) {
    facts.is_supported = error.code() != ErrorCode::unsupported;
    facts.why = error.message();
    if (is_above_limit(header.width, header.height, max_pixels)) return facts;  // another limit may decode it
    // Of an image that is not supported no end was looked for.
    const bool undecodable = complete || !facts.is_supported;
    facts.condition = undecodable ? ImageCondition::undecodable : ImageCondition::incomplete;
  }
  return facts;
}

}  // namespace bale
