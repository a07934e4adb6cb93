#include "bale/formats/image/codec/whole_codec.hpp"

#ifdef BALE_HAS_AVIF
#endif
#ifdef BALE_HAS_JXL
#endif

namespace bale::image_detail {

const WholeCodec* whole_codec(ImageKind kind) {
  switch (kind) {
    case ImageKind::bmp:
      return &k_bmp_codec;
    case ImageKind::pnm:
      return &k_pnm_codec;
    case ImageKind::gif:
      return &k_gif_codec;
    case ImageKind::webp:
      return &k_webp_codec;
    case ImageKind::tiff:
      return &k_tiff_codec;
#ifdef BALE_HAS_AVIF
    case ImageKind::avif:
      return &k_avif_codec;
#endif
#ifdef BALE_HAS_JXL
    case ImageKind::jxl:
      return &k_jxl_codec;
#endif
    default:
      return nullptr;
  }
}

std::string_view missing_library(ImageKind kind) {
  if (whole_codec(kind) != nullptr) return {};
  if (kind == ImageKind::avif) return "libavif";
  if (kind == ImageKind::jxl) return "libjxl";
  return {};
}

void fail_not_gray_16() {
  throw Error(ErrorCode::unsupported, "not an image of 16-bit gray, which mode I;16 needs",
              {.hint = "use mode L or RGB for images of 8 bits"});
}

}  // namespace bale::image_detail
