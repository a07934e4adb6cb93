#include "bale/formats/image/codec/whole_codec.hpp"

#include <algorithm>

#include "bale/formats/image/pnm/pnm_header.hpp"

namespace bale::image_detail {
namespace {

/// Bytes per row of a binary file.
std::size_t row_bytes(const PnmHeader& header) {
  if (header.is_bitmap) return (std::size_t{header.width} + 7) / 8;
  return std::size_t{header.width} * header.channels * (header.max_value > 255 ? 2 : 1);
}

/// Whether the bytes can hold the pixels. Numbers take a digit each, and but for bits a space between two of them.
bool has_room(Bytes bytes, const PnmHeader& header) {
  const std::size_t rest = bytes.size() - header.offset;
  if (!header.is_text) return rest / row_bytes(header) >= header.height;
  const std::uint64_t values = std::uint64_t{header.width} * header.height * header.channels;
  return (header.is_bitmap ? values : values * 2 - 1) <= rest;
}

void decode_bits(const std::uint8_t* in, const PnmHeader& header, std::uint8_t* rgb) {
  const std::size_t stride = row_bytes(header);
  for (std::uint32_t y = 0; y < header.height; ++y, in += stride) {
    for (std::uint32_t x = 0; x < header.width; ++x, rgb += 3)
      put(rgb, gray((in[x / 8] << x % 8 & 0x80) != 0 ? 0 : 255));
  }
}

void decode_values(const std::uint8_t* in, const PnmHeader& header, std::uint8_t* rgb) {
  const PnmScale scale(header);
  const bool wide = header.max_value > 255;
  const std::size_t num_pixels = std::size_t{header.width} * header.height;
  const auto next = [&] {
    const std::uint32_t value = wide ? std::uint32_t{in[0]} << 8 | in[1] : in[0];
    in += wide ? 2 : 1;
    return scale(value);
  };
  for (std::size_t i = 0; i < num_pixels; ++i, rgb += 3) {
    rgb[0] = next();
    rgb[1] = header.channels == 3 ? next() : rgb[0];
    rgb[2] = header.channels == 3 ? next() : rgb[0];
  }
}

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const PnmHeader header = read_pnm_header(bytes);
  check_pixel_budget(header.width, header.height, max_pixels);
  if (!has_room(bytes, header)) fail_image(ErrorCode::damaged, "PNM: image data ends too early");
  return {.kind = ImageKind::pnm, .width = header.width, .height = header.height, .channels = header.channels};
}

void decode(Bytes bytes, std::uint64_t, std::uint8_t* rgb) {
  const PnmHeader header = read_pnm_header(bytes);
  const std::uint8_t* const data = as_uchar(bytes) + header.offset;
  if (header.is_text) return read_pnm_text(bytes.subspan(header.offset), header, rgb);
  if (header.is_bitmap) return decode_bits(data, header, rgb);
  decode_values(data, header, rgb);
}

bool has_end(Bytes bytes) {
  try {
    const PnmHeader header = read_pnm_header(bytes);
    return !header.is_text && header.width != 0 && header.height != 0 && has_room(bytes, header);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

const WholeCodec k_pnm_codec{open, decode, has_end};

}  // namespace bale::image_detail
