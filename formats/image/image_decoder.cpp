#include "bale/formats/image/image_decoder.hpp"

#include <fmt/format.h>

#include "bale/formats/image/array_image.hpp"
#include "bale/formats/image/baseline_decoder.hpp"
#include "bale/formats/image/codec.hpp"
#include "bale/formats/image/jpeg_decoder.hpp"
#include "bale/formats/image/png_decoder.hpp"

namespace bale {
namespace {

using image_detail::RegionLayout;

/// Memory for pixels, kept from image to image and never initialised. One huge image does not make it large for ever.
class PixelBuffer {
 public:
  std::uint8_t* get(std::size_t size) {
    const bool outsized = capacity_ > k_keep_bytes && size < capacity_ / 4;
    if (size > capacity_ || outsized) {
      pixels_.reset();  // before the new one is made: never both
      capacity_ = 0;
      pixels_.reset(new std::uint8_t[size]);
      capacity_ = size;
    }
    return pixels_.get();
  }

 private:
  static constexpr std::size_t k_keep_bytes = std::size_t{16} << 20;
  std::unique_ptr<std::uint8_t[]> pixels_;
  std::size_t capacity_ = 0;
};

template <typename Decoder>
PixelView read_region(Decoder& decoder, const Region& region, PixelBuffer& buffer) {
  const RegionLayout layout = decoder.start(region);
  std::uint8_t* const pixels = buffer.get(layout.rows * layout.stride);
  decoder.read(pixels);
  return {.rgb = pixels + layout.offset, .stride = layout.stride, .width = region.width, .height = region.height};
}

}  // namespace

struct ImageDecoder::State {
  image_detail::JpegDecoder jpeg;
  image_detail::BaselineDecoder baseline;
  image_detail::PngDecoder png;
  PixelBuffer buffer;
  const std::uint8_t* array = nullptr;  // pixels of an image that is decoded already
  ImageHeader header{};                 // kind `unknown` where no image is open
  std::size_t num_bytes = 0;
  KeptEntryPoints kept{};

  template <typename Decoder>
  void open(Decoder& decoder, ImageKind kind, Bytes bytes, std::uint64_t max_pixels) {
    decoder.open(bytes);
    image_detail::check_pixel_budget(decoder.width(), decoder.height(), max_pixels);
    header = {.kind = kind, .width = decoder.width(), .height = decoder.height(), .channels = decoder.channels()};
  }

  PixelView read_jpeg(const Region& region) {
    const std::size_t stride = std::size_t{region.width} * 3;
    std::uint8_t* const pixels = buffer.get(stride * region.height);
    const image_detail::EntryPointsUse entry{.kept = kept, .image_bytes = num_bytes};
    if (!baseline.decode(jpeg.info(), region, entry, pixels)) return read_region(jpeg, region, buffer);
    jpeg.close();
    return {.rgb = pixels, .stride = stride, .width = region.width, .height = region.height};
  }
};

ImageDecoder::ImageDecoder() : state_(std::make_unique<State>()) {}
ImageDecoder::~ImageDecoder() = default;
ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;
ImageDecoder& ImageDecoder::operator=(ImageDecoder&&) noexcept = default;

ImageHeader ImageDecoder::open(Bytes bytes, std::uint64_t max_pixels) {
  state_->header = {};
  state_->kept = {};
  state_->num_bytes = bytes.size();
  const ImageKind kind = image_detail::decodable_kind(bytes, max_pixels);
  if (kind == ImageKind::array) {
    const std::size_t offset = image_detail::array_pixels_offset(bytes);
    state_->array = as_uchar(bytes) + offset;
    state_->header = probe_image(bytes);
  } else if (kind == ImageKind::png) {
    state_->open(state_->png, kind, bytes, max_pixels);
  } else {
    state_->open(state_->jpeg, kind, bytes, max_pixels);
  }
  return state_->header;
}

void ImageDecoder::use_entry_points(const KeptEntryPoints& kept) { state_->kept = kept; }

PixelView ImageDecoder::read(const Region& region) {
  const ImageHeader header = state_->header;
  if (header.kind == ImageKind::unknown) throw Error(ErrorCode::invalid_argument, "no image is open to be read");
  if (region.width == 0 || region.height == 0 || region.x >= header.width || region.y >= header.height ||
      region.width > header.width - region.x || region.height > header.height - region.y) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("region of {}x{} at ({}, {}) is not inside an image of {}x{} pixels", region.width,
                            region.height, region.x, region.y, header.width, header.height));
  }
  state_->header = {};
  switch (header.kind) {
    case ImageKind::array: {
      const std::size_t stride = std::size_t{header.width} * 3;
      const std::uint8_t* const first = state_->array + region.y * stride + std::size_t{region.x} * 3;
      return {.rgb = first, .stride = stride, .width = region.width, .height = region.height};
    }
    case ImageKind::png:
      return read_region(state_->png, region, state_->buffer);
    default:
      return state_->read_jpeg(region);
  }
}

}  // namespace bale
