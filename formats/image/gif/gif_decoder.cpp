#include "bale/formats/image/codec/whole_codec.hpp"

#include <memory>

#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/gif/gif_codes.hpp"
#include "bale/formats/image/gif/gif_header.hpp"

namespace bale::image_detail {
namespace {

constexpr std::uint32_t k_max_code_bits = 12;

/// The rows of an image in the order of the file: every eighth one, then those between them.
class RowOrder {
 public:
  RowOrder(std::uint32_t height, bool interlaced) : height_(height), pass_(interlaced ? 0 : k_last_pass) {
    step_ = interlaced ? 8 : 1;
  }

  std::uint32_t row() const { return row_; }

  /// False after the last row.
  bool advance() {
    row_ += step_;
    while (row_ >= height_) {
      if (pass_ == k_last_pass) return false;
      ++pass_;
      row_ = 8u >> pass_;
      step_ = 16u >> pass_;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t k_last_pass = 3;
  std::uint32_t height_;
  std::uint32_t pass_;
  std::uint32_t step_;
  std::uint32_t row_ = 0;
};

/// Stores pixels of 3 bytes, or of 4 with alpha.
template <std::size_t pixel_bytes>
void put_index(const GifHeader& header, std::uint8_t index, std::uint8_t* pixel) {
  put(pixel, header.palette[index]);
  if constexpr (pixel_bytes == 4) pixel[3] = header.transparent && index == header.background ? 0 : 255;
}

template <std::size_t pixel_bytes>
void read_frame(GifCodes& codes, const GifHeader& header, std::uint8_t* pixels) {
  const Region& frame = header.frame;
  const auto row_of = [&](std::uint32_t y) {
    return pixels + ((std::size_t{frame.y} + y) * header.width + frame.x) * pixel_bytes;
  };
  RowOrder order(frame.height, header.interlaced);
  std::uint8_t* out = row_of(0);
  std::uint32_t x = 0;
  for (;;) {
    const GifCodes::String string = codes.next();
    for (std::size_t i = 0; i < string.length; ++i, out += pixel_bytes) {
      put_index<pixel_bytes>(header, string.indices[i], out);
      if (++x < frame.width) continue;
      if (!order.advance()) return;
      x = 0;
      out = row_of(order.row()) - pixel_bytes;
    }
  }
}

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const GifHeader header = read_gif_header(bytes);
  check_pixel_budget(header.width, header.height, max_pixels);
  if (header.frame.width == 0 || header.frame.height == 0)
    fail_image(ErrorCode::damaged, "GIF: the first frame is empty");
  if (header.code_bits > k_max_code_bits) fail_image(ErrorCode::damaged, "GIF: color indices of too many bits");
  return {.kind = ImageKind::gif, .width = header.width, .height = header.height, .channels = 3};
}

template <std::size_t pixel_bytes>
void decode_as(Bytes bytes, std::uint64_t, std::uint8_t* pixels) {
  const GifHeader header = read_gif_header(bytes);
  if (header.frame.width != header.width || header.frame.height != header.height) {
    const std::size_t num_pixels = std::size_t{header.width} * header.height;
    for (std::size_t i = 0; i < num_pixels; ++i) {
      put_index<pixel_bytes>(header, header.background, pixels + i * pixel_bytes);
    }
  }
  const auto codes = std::make_unique<GifCodes>(bytes, header.offset, header.code_bits);
  read_frame<pixel_bytes>(*codes, header, pixels);
}

/// Whether the first frame's blocks end with an empty one.
bool has_end(Bytes bytes) {
  try {
    std::size_t at = read_gif_header(bytes).offset;
    const ByteReader in(bytes);
    while (in.has(at, 1)) {
      if (in.u8(at) == 0) return true;
      at += 1 + in.u8(at);
    }
  } catch (const Error&) {
    // Decoding reports it.
  }
  return false;
}

}  // namespace

const WholeCodec k_gif_codec{open, decode_as<3>, has_end, decode_as<4>};

}  // namespace bale::image_detail
