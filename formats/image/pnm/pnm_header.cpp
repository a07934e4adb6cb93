#include "bale/formats/image/pnm/pnm_header.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {
namespace {

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

}  // namespace

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

}  // namespace bale::image_detail
