#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {
namespace {

// A PBM's, PGM's or PPM's header, and its values as 8 bits, as Pillow's PpmImagePlugin reads them.

/// Of a number in text: Pillow's limit.
constexpr std::size_t k_max_pnm_digits = 10;

struct PnmHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 1;
  std::uint32_t max_value = 1;
  bool is_text = false;    // P1, P2, P3
  bool is_bitmap = false;  // P1, P4: 1 is black
  std::size_t offset = 0;  // of the pixels
};

/// White space as Pillow and Python understand it.
bool is_pnm_space(std::uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Values from 0 to the header's largest one as 8 bits: Pillow computes round(value / max_value * 255), a half to even.
/// Gray above 8 bits becomes 16 bits first, and is then limited to 255. A value that is too large counts as 255.
class PnmScale {
 public:
  explicit PnmScale(const PnmHeader& header);
  std::uint8_t operator()(std::uint32_t value) const { return value < table_.size() ? table_[value] : 255; }

 private:
  std::vector<std::uint8_t> table_;
};

/// The number at `at`, which moves behind the one character after it. A comment may be anywhere, even within a number.
std::uint64_t read_number(const ByteReader& in, std::size_t& at) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  while (digits <= k_max_pnm_digits) {
    if (!in.has(at, 1)) break;
    const std::uint32_t c = in.u8(at++);
    if (is_pnm_space(c)) {
      if (digits == 0) continue;
      break;
    }
    if (c == '#') {
      while (in.has(at, 1) && in.u8(at) != '\n' && in.u8(at) != '\r') ++at;
      if (in.has(at, 1)) ++at;
      continue;
    }
    if (c < '0' || c > '9') fail_image(ErrorCode::damaged, "PNM: a number in the header is none");
    value = value * 10 + (c - '0');
    ++digits;
  }
  if (digits == 0) fail_image(ErrorCode::damaged, "PNM: the header ends too early");
  if (digits > k_max_pnm_digits) fail_image(ErrorCode::damaged, "PNM: a number in the header is too long");
  return value;
}

std::uint32_t read_side(const ByteReader& in, std::size_t& at) {
  const std::uint64_t side = read_number(in, at);
  if (side > 0x7FFFFFFF) {
    throw Error(ErrorCode::unsupported, fmt::format("PNM: a side of {} pixels", side));
  }
  return static_cast<std::uint32_t>(side);
}

PnmHeader read_pnm_header(Bytes bytes) {
  const ByteReader in(bytes);
  if (!in.has(0, 3) || !is_pnm_space(in.u8(2))) fail_image(ErrorCode::damaged, "PNM: the header ends too early");
  const std::uint32_t magic = in.u8(1) - '0';
  PnmHeader out{.channels = magic % 3 == 0 ? 3u : 1u, .is_text = magic <= 3, .is_bitmap = magic % 3 == 1, .offset = 3};
  out.width = read_side(in, out.offset);
  out.height = read_side(in, out.offset);
  if (out.is_bitmap) return out;
  const std::uint64_t max_value = read_number(in, out.offset);
  if (max_value == 0 || max_value > 65535) {
    throw Error(ErrorCode::damaged, fmt::format("PNM: {} as the largest value", max_value));
  }
  out.max_value = static_cast<std::uint32_t>(max_value);
  return out;
}

PnmScale::PnmScale(const PnmHeader& header) : table_(std::size_t{header.max_value} + 1) {
  const double limit = header.channels == 1 && header.max_value > 255 ? 65535 : 255;
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const double value = std::nearbyint(static_cast<double>(i) / header.max_value * limit);
    table_[i] = static_cast<std::uint8_t>(std::min(value, 255.0));
  }
}

/// Characters without comments. A comment ends with its line, and so do two halves of a number meet that it divides.
class Characters {
 public:
  explicit Characters(Bytes text) : in_(text) {}

  /// -1 after the last one.
  int next() {
    while (in_.has(at_, 1)) {
      const std::uint32_t c = in_.u8(at_++);
      if (c != '#') return static_cast<int>(c);
      while (in_.has(at_, 1) && in_.u8(at_) != '\n' && in_.u8(at_) != '\r') ++at_;
      if (in_.has(at_, 1)) ++at_;
    }
    return -1;
  }

 private:
  ByteReader in_;
  std::size_t at_ = 0;
};

[[noreturn]] void fail_early() { fail_image(ErrorCode::damaged, "PNM: image data ends too early"); }

/// Bits need no space between them.
void read_bits(Characters& characters, const PnmHeader& header, std::uint8_t* rgb) {
  const std::size_t num_pixels = std::size_t{header.width} * header.height;
  for (std::size_t i = 0; i < num_pixels;) {
    const int c = characters.next();
    if (c < 0) fail_early();
    if (is_pnm_space(static_cast<std::uint32_t>(c))) continue;
    if (c != '0' && c != '1') fail_image(ErrorCode::damaged, "PNM: a bit that is neither 0 nor 1");
    put(rgb + i * 3, gray(c == '0' ? 255 : 0));
    ++i;
  }
}

std::uint32_t read_value(Characters& characters, std::uint32_t max_value) {
  int c = characters.next();
  while (c >= 0 && is_pnm_space(static_cast<std::uint32_t>(c))) c = characters.next();
  if (c < 0) fail_early();
  std::uint64_t value = 0;
  for (std::size_t digits = 0; c >= 0 && !is_pnm_space(static_cast<std::uint32_t>(c)); c = characters.next()) {
    if (c < '0' || c > '9') fail_image(ErrorCode::damaged, "PNM: a value that is not a number");
    if (++digits > k_max_pnm_digits) fail_image(ErrorCode::damaged, "PNM: a value is too long");
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > max_value) fail_image(ErrorCode::damaged, "PNM: a value exceeds the largest one");
  return static_cast<std::uint32_t>(value);
}

void read_pnm_text(Bytes text, const PnmHeader& header, std::uint8_t* rgb) {
  Characters characters(text);
  if (header.is_bitmap) return read_bits(characters, header, rgb);
  const PnmScale scale(header);
  const std::size_t num_pixels = std::size_t{header.width} * header.height;
  for (std::size_t i = 0; i < num_pixels; ++i, rgb += 3) {
    rgb[0] = scale(read_value(characters, header.max_value));
    rgb[1] = header.channels == 3 ? scale(read_value(characters, header.max_value)) : rgb[0];
    rgb[2] = header.channels == 3 ? scale(read_value(characters, header.max_value)) : rgb[0];
  }
}

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
  return holds([&] {
    const PnmHeader header = read_pnm_header(bytes);
    return !header.is_text && header.width != 0 && header.height != 0 && has_room(bytes, header);
  });
}

}  // namespace

const WholeCodec k_pnm_codec{open, decode, has_end};

}  // namespace bale::image_detail
