#include <memory>

#include <jxl/decode.h>

#include "bale/formats/base/system/lazy_library.hpp"
#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale_lazy_jxl.hpp"

// The functions of libjxl that bale calls, which open it; internal.

#ifdef BALE_LAZY_JXL

namespace bale::image_detail {

inline constinit LazyLibrary jxl_library{BALE_LAZY_JXL};

// clang-format off
#define BALE_JXL(name) BALE_LAZY_FUNCTION(jxl_library, name)
BALE_JXL(JxlDecoderCloseInput) BALE_JXL(JxlDecoderCreate) BALE_JXL(JxlDecoderDestroy) BALE_JXL(JxlDecoderGetBasicInfo)
BALE_JXL(JxlDecoderImageOutBufferSize) BALE_JXL(JxlDecoderProcessInput) BALE_JXL(JxlDecoderSetImageOutBuffer)
BALE_JXL(JxlDecoderSetInput) BALE_JXL(JxlDecoderSetPreferredColorProfile) BALE_JXL(JxlDecoderSubscribeEvents)
#undef BALE_JXL
// clang-format on

}  // namespace bale::image_detail

#endif

namespace bale::image_detail {
namespace {

struct DeleteDecoder {
  void operator()(JxlDecoder* decoder) const { JxlDecoderDestroy(decoder); }
};

/// libjxl's decoder for one image, which needs no thread besides the caller's.
class Decoder {
 public:
  Decoder(Bytes bytes, int events) : decoder_(JxlDecoderCreate(nullptr)) {
    if (decoder_ == nullptr) throw std::bad_alloc();
    require(JxlDecoderSubscribeEvents(get(), events));
    require(JxlDecoderSetInput(get(), as_uchar(bytes), bytes.size()));
    JxlDecoderCloseInput(get());
  }

  JxlDecoder* get() const { return decoder_.get(); }

  void require(JxlDecoderStatus status) const {
    if (status != JXL_DEC_SUCCESS) fail_image(ErrorCode::damaged, "JPEG XL: libjxl cannot decode it");
  }

  /// Goes on to the next event.
  JxlDecoderStatus next() const {
    const JxlDecoderStatus status = JxlDecoderProcessInput(get());
    if (status == JXL_DEC_NEED_MORE_INPUT) fail_image(ErrorCode::damaged, "JPEG XL: image data ends too early");
    if (status == JXL_DEC_ERROR) fail_image(ErrorCode::damaged, "JPEG XL: libjxl cannot decode it");
    return status;
  }

  JxlBasicInfo info() const {
    JxlBasicInfo info;
    require(JxlDecoderGetBasicInfo(get(), &info));
    return info;
  }

 private:
  std::unique_ptr<JxlDecoder, DeleteDecoder> decoder_;
};

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const Decoder decoder(bytes, JXL_DEC_BASIC_INFO);
  if (decoder.next() != JXL_DEC_BASIC_INFO) fail_image(ErrorCode::damaged, "JPEG XL: no image in it");
  const JxlBasicInfo info = decoder.info();
  check_pixel_budget(info.xsize, info.ysize, max_pixels);
  return {.kind = ImageKind::jxl,
          .width = info.xsize,
          .height = info.ysize,
          .channels = info.num_color_channels + (info.alpha_bits != 0 ? 1u : 0u)};
}

/// libjxl's lossy colors are of no color space until one is chosen. Others stay as they are.
void choose_srgb(const Decoder& decoder, const JxlBasicInfo& info) {
  if (info.uses_original_profile != JXL_FALSE) return;
  JxlColorEncoding srgb{};
  srgb.color_space = info.num_color_channels == 1 ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB;
  srgb.white_point = JXL_WHITE_POINT_D65;
  srgb.primaries = JXL_PRIMARIES_SRGB;
  srgb.transfer_function = JXL_TRANSFER_FUNCTION_SRGB;
  srgb.rendering_intent = JXL_RENDERING_INTENT_RELATIVE;
  decoder.require(JxlDecoderSetPreferredColorProfile(decoder.get(), &srgb));
}

void decode_as(std::uint32_t channels, Bytes bytes, std::uint64_t max_pixels, std::uint8_t* pixels) {
  const ImageHeader header = open(bytes, max_pixels);
  const Decoder decoder(bytes, JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE);
  const JxlPixelFormat format{channels, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  const std::size_t num_bytes = std::size_t{header.width} * header.height * channels;
  for (;;) {
    switch (decoder.next()) {
      case JXL_DEC_COLOR_ENCODING:
        choose_srgb(decoder, decoder.info());
        break;
      case JXL_DEC_NEED_IMAGE_OUT_BUFFER: {
        std::size_t needed = 0;
        decoder.require(JxlDecoderImageOutBufferSize(decoder.get(), &format, &needed));
        if (needed != num_bytes)
          fail_image(ErrorCode::damaged, "JPEG XL: the header and the image have different sizes");
        decoder.require(JxlDecoderSetImageOutBuffer(decoder.get(), &format, pixels, num_bytes));
        break;
      }
      case JXL_DEC_FULL_IMAGE:
        return;
      case JXL_DEC_SUCCESS:
        fail_image(ErrorCode::damaged, "JPEG XL: no image in it");
      default:
        break;
    }
  }
}

void decode(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgb) { decode_as(3, bytes, max_pixels, rgb); }
void decode_rgba(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgba) { decode_as(4, bytes, max_pixels, rgba); }

/// A codestream without boxes has no end that shows.
bool has_end(Bytes bytes) { return !as_text(bytes).starts_with("\xFF\x0A") && boxes_have_end(bytes); }

}  // namespace

const WholeCodec k_jxl_codec{open, decode, has_end, decode_rgba};

}  // namespace bale::image_detail
