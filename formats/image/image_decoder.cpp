#include "bale/formats/image/image_decoder.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/color/color.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/decode/progressive_decoder.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/jpeg/planes/planes_field.hpp"
#include "bale/formats/image/jpeg/planes/planes_pixels.hpp"
#include "bale/formats/image/metadata/image_pieces.hpp"
#include "bale/formats/image/png/png_decoder.hpp"

namespace bale {
namespace {

using BaselineState = image_detail::BaselineDecoder::State;
using image_detail::RegionLayout;
using image_detail::ReusedMemory;

/// More than most images need.
constexpr std::size_t k_kept_pixel_bytes = std::size_t{1} << 20;
/// Getting memory of this size costs little next to decoding what fills it.
constexpr std::size_t k_large_pixel_bytes = std::size_t{64} << 20;

bool is_inside(const Region& region, const ImageHeader& header) {
  return region.width != 0 && region.height != 0 && region.x < header.width && region.y < header.height &&
         region.width <= header.width - region.x && region.height <= header.height - region.y;
}

/// Pillow accepts some images without an end: with all pixels, or followed by other bytes. Only decoding shows which.
void require_whole(Bytes bytes, bool has_end, std::uint64_t max_pixels, WholeCheck check) {
  if (has_end && check == WholeCheck::end) return;
  try {
    decode_image(bytes, max_pixels);
  } catch (const Error& error) {
    if (has_end) throw;
    throw Error(error.code(), fmt::format("the image is incomplete: {}", error.message()));
  }
}

template <typename Decoder, typename... Mode>
PixelView read_region(Decoder& decoder, const Region& region, ReusedMemory& buffer, Mode... mode) {
  const RegionLayout layout = decoder.start(region, mode...);
  std::uint8_t* const pixels = buffer.get(layout.rows * layout.stride);
  decoder.read(pixels);
  return {.rgb = pixels + layout.offset, .stride = layout.stride, .width = region.width, .height = region.height};
}

/// Without gaps at `out`, which may be the start of the memory where the pixels are.
PixelView to_gray(const PixelView& rgb, std::uint8_t* out) {
  const std::size_t stride = rgb.width;
  for (std::uint32_t y = 0; y < rgb.height; ++y) gray_of(rgb.rgb + y * rgb.stride, rgb.width, out + y * stride);
  return {.rgb = out, .stride = stride, .width = rgb.width, .height = rgb.height, .pixel_bytes = 1};
}

PixelView to_opaque(const PixelView& rgb, ReusedMemory& buffer) {
  const std::size_t stride = std::size_t{rgb.width} * 4;
  std::uint8_t* const out = buffer.get(stride * rgb.height);
  for (std::uint32_t y = 0; y < rgb.height; ++y) {
    const std::uint8_t* from = rgb.rgb + y * rgb.stride;
    std::uint8_t* to = out + y * stride;
    for (std::uint32_t x = 0; x < rgb.width; ++x, from += 3, to += 4) {
      to[0] = from[0];
      to[1] = from[1];
      to[2] = from[2];
      to[3] = 255;
    }
  }
  return {.rgb = out, .stride = stride, .width = rgb.width, .height = rgb.height, .pixel_bytes = 4};
}

}  // namespace

struct ImageDecoder::State {
  image_detail::JpegDecoder jpeg;
  image_detail::BaselineDecoder baseline;
  image_detail::ProgressiveDecoder progressive;
  image_detail::PngDecoder png;
  image_detail::PlanesHeader planes;
  image_detail::PlanesPixels plane_pixels;
  Bytes stored{};
  bool has_planes = false;  // the open image is a JPEG that is stored as planes
  std::vector<std::byte> restored{};
  ReusedMemory buffer{k_kept_pixel_bytes};
  ReusedMemory converted{k_kept_pixel_bytes};  // pixels of another mode than RGB, if they cannot take these bytes
  PixelMode mode = PixelMode::rgb;
  const std::uint8_t* array = nullptr;  // pixels of an image that is already decoded
  Bytes whole{};                        // an image that read() decodes as a whole
  std::uint64_t pixel_limit = 0;
  ImageHeader header{};  // kind `unknown` if no image is open
  std::size_t num_bytes = 0;
  KeptSeekPoints kept{};
  /// Of decode_ahead(): how far the baseline decoder is with decoding the region into the buffer.
  struct Ahead {
    Region region{};
    BaselineState state{};
    bool is_under_way() const { return state == BaselineState::under_way; }
  };
  std::optional<Ahead> ahead{};

  template <typename Decoder>
  void open(Decoder& decoder, ImageKind kind, Bytes bytes, std::uint64_t max_pixels) {
    decoder.open(bytes);
    check_pixel_budget(decoder.width(), decoder.height(), max_pixels);
    header = {.kind = kind, .width = decoder.width(), .height = decoder.height(), .channels = decoder.channels()};
  }

  /// What is to be opened: of a JPEG that is stored as planes the header, or the original if all of it is to be
  /// decoded.
  Bytes open_planes(Bytes bytes, WholeCheck check) {
    has_planes = false;
    if (!image_detail::has_planes_signature(bytes)) return bytes;
    stored = bytes;
    if (check == WholeCheck::decode) return restore();
    planes.open(bytes, check == WholeCheck::none);
    if (planes.is_verbatim()) return planes.verbatim();
    has_planes = true;
    return planes.head();
  }

  Bytes restore() {
    const Bytes original = restore_planes(stored);
    restored.assign(original.begin(), original.end());
    return restored;
  }

  /// For the image that is open. If it has many scans, decoding any region reads all of them.
  bool has_end(Bytes bytes) const {
    if (header.kind == ImageKind::png) return image_detail::pieces_have_end(bytes);
    if (has_planes) return true;  // what was packed is complete, and its checksums say that it is as it was
    return header.kind != ImageKind::jpeg || jpeg.reads_all_scans() || image_detail::jpeg_scan_has_end(jpeg.scan());
  }

  std::uint8_t* pixels_for(const Region& region) { return buffer.get(std::size_t{region.width} * region.height * 3); }

  image_detail::SeekPointsUse entry() const { return {.kept = kept, .image_bytes = num_bytes}; }

  /// False if there is nothing that can be done next to another image.
  bool begin_ahead(const Region& region) {
    if (header.kind != ImageKind::jpeg || has_planes || !is_inside(region, header)) return false;
    if (std::size_t{region.width} * region.height * 3 > k_large_pixel_bytes)
      return false;  // one at a time: free_large()
    if (!ahead || ahead->region != region) {
      ahead = {};
      const BaselineState begun = baseline.begin(jpeg.info(), region, entry(), pixels_for(region));
      ahead = Ahead{.region = region, .state = begun};
    }
    return ahead->is_under_way();
  }

  /// Throws `unsupported` if the image that is open has no pixels of the mode.
  void require_mode(PixelMode wanted) const {
    if (wanted != PixelMode::gray_16) return;
    const image_detail::WholeCodec* const codec = image_detail::whole_codec(header.kind);
    const bool may_be = header.kind == ImageKind::png ? png.is_gray_16() : codec != nullptr && codec->decode_gray_16;
    if (!may_be) image_detail::fail_not_gray_16();
  }

  /// The whole image is decoded, whatever the region: so its errors do not depend on the region. `decoded` is rgb if
  /// the codec does not know the mode.
  PixelView read_whole(const ImageHeader& image, const Region& region, PixelMode decoded) {
    const image_detail::WholeCodec& codec = *image_detail::whole_codec(image.kind);
    const std::uint32_t pixel_bytes = mode_bytes(decoded);
    const std::size_t stride = std::size_t{image.width} * pixel_bytes;
    std::uint8_t* const pixels = buffer.get(stride * image.height);
    if (decoded == PixelMode::rgba) {
      codec.decode_rgba(whole, pixel_limit, pixels);
    } else if (decoded == PixelMode::gray_16) {
      codec.decode_gray_16(whole, pixel_limit, reinterpret_cast<std::uint16_t*>(pixels));
    } else {
      codec.decode(whole, pixel_limit, pixels);
    }
    return {.rgb = pixels + region.y * stride + std::size_t{region.x} * pixel_bytes,
            .stride = stride,
            .width = region.width,
            .height = region.height,
            .pixel_bytes = pixel_bytes};
  }

  /// In the mode of the image, or else as RGB.
  PixelView read_decoded(const ImageHeader& image, const Region& region) {
    const bool has_alpha_or_16_bits = mode == PixelMode::rgba || mode == PixelMode::gray_16;
    switch (image.kind) {
      case ImageKind::array: {
        const std::size_t stride = std::size_t{image.width} * 3;
        const std::uint8_t* const first = array + region.y * stride + std::size_t{region.x} * 3;
        return {.rgb = first, .stride = stride, .width = region.width, .height = region.height};
      }
      case ImageKind::png: {
        const PixelMode decoded = has_alpha_or_16_bits ? mode : PixelMode::rgb;
        PixelView pixels = read_region(png, region, buffer, decoded);
        pixels.pixel_bytes = mode_bytes(decoded);
        return pixels;
      }
      default:
        break;
    }
    const image_detail::WholeCodec* const codec = image_detail::whole_codec(image.kind);
    if (codec == nullptr) return read_jpeg(region);
    const bool knows = mode == PixelMode::rgba ? codec->decode_rgba != nullptr : mode == PixelMode::gray_16;
    return read_whole(image, region, knows ? mode : PixelMode::rgb);
  }

  PixelView read(const ImageHeader& image, const Region& region) {
    const PixelView pixels = read_decoded(image, region);
    if (pixels.pixel_bytes == mode_bytes(mode)) return pixels;
    if (mode == PixelMode::rgba) return to_opaque(pixels, converted);
    const bool is_ours = image.kind != ImageKind::array;
    return to_gray(pixels, is_ours ? buffer.data() : converted.get(std::size_t{region.width} * region.height));
  }

  PixelView read_jpeg(const Region& region) {
    bool done;
    if (has_planes && plane_pixels.open(planes, jpeg.info()) && plane_pixels.decode(region, pixels_for(region))) {
      return rgb_of(region);
    }
    if (has_planes) jpeg.open(restore());
    if (ahead && ahead->region == region) {
      done = ahead->is_under_way() ? baseline.finish() : ahead->state == BaselineState::done;
    } else {
      std::uint8_t* const pixels = pixels_for(region);
      done = baseline.decode(jpeg.info(), region, entry(), pixels);
    }
    if (!done && !progressive.decode(jpeg.info(), region, pixels_for(region))) return read_region(jpeg, region, buffer);
    return rgb_of(region);
  }

  /// What a JPEG's decoder has written for pixels_for(), which may have replaced the memory.
  PixelView rgb_of(const Region& region) {
    jpeg.close();
    return {
        .rgb = buffer.data(), .stride = std::size_t{region.width} * 3, .width = region.width, .height = region.height};
  }
};

ImageDecoder::ImageDecoder() : state_(std::make_unique<State>()) {}
ImageDecoder::~ImageDecoder() = default;
ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;
ImageDecoder& ImageDecoder::operator=(ImageDecoder&&) noexcept = default;

ImageHeader ImageDecoder::open(Bytes bytes, std::uint64_t max_pixels, WholeCheck check, PixelMode mode) {
  state_->header = {};
  state_->kept = {};
  state_->ahead = {};
  state_->mode = mode;
  bytes = state_->open_planes(bytes, check);
  state_->num_bytes = bytes.size();
  const ImageKind kind = image_detail::decodable_kind(bytes, max_pixels);
  if (kind == ImageKind::array) {
    const std::size_t offset = image_detail::array_pixels_offset(bytes);
    state_->array = as_uchar(bytes) + offset;
    state_->header = probe_image(bytes);
  } else if (kind == ImageKind::png) {
    state_->open(state_->png, kind, bytes, max_pixels);
  } else if (const image_detail::WholeCodec* const codec = image_detail::whole_codec(kind)) {
    state_->whole = bytes;
    state_->pixel_limit = max_pixels;
    state_->header = codec->open(bytes, max_pixels);
  } else {
    state_->open(state_->jpeg, kind, bytes, max_pixels);
  }
  state_->require_mode(mode);
  if (check == WholeCheck::none) return state_->header;
  const bool has_end = state_->has_end(bytes);
  const ImageHeader header = std::exchange(state_->header, {});  // nothing can be read until the check has passed
  require_whole(bytes, has_end, max_pixels, check);
  return state_->header = header;
}

bool ImageDecoder::is_plain_jpeg() const {
  if (state_->header.kind != ImageKind::jpeg || state_->has_planes) return false;
  const auto frame = image_detail::baseline_frame(state_->jpeg.info());
  return frame && frame->num_components == 3;
}

void ImageDecoder::use_seek_points(const KeptSeekPoints& kept) { state_->kept = kept; }

PixelView ImageDecoder::read(const Region& region) {
  const ImageHeader header = state_->header;
  if (header.kind == ImageKind::unknown) throw Error(ErrorCode::invalid_argument, "no image is open to be read");
  if (!is_inside(region, header)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("region of {}x{} at ({}, {}) is not inside an image of {}x{} pixels", region.width,
                            region.height, region.x, region.y, header.width, header.height));
  }
  state_->header = {};
  return state_->read(header, region);
}

void ImageDecoder::free_large() {
  state_->buffer.free_above(k_large_pixel_bytes);
  state_->converted.free_above(k_large_pixel_bytes);
}

std::array<bool, 2> ImageDecoder::decode_ahead(const Upcoming& first, const Upcoming& second) {
  State& a = *first.decoder->state_;
  State& b = *second.decoder->state_;
  const bool a_can = a.begin_ahead(first.region);
  const bool b_can = b.begin_ahead(second.region);
  if (!a_can || !b_can) return {!a_can, !b_can};
  const auto [a_state, b_state] = image_detail::BaselineDecoder::go_on_beside(a.baseline, b.baseline);
  a.ahead->state = a_state;
  b.ahead->state = b_state;
  return {!a.ahead->is_under_way(), !b.ahead->is_under_way()};
}

}  // namespace bale
