#include "bale/formats/image/pnm/pnm_header.hpp"

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {
namespace {

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

}  // namespace

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

}  // namespace bale::image_detail
