#include <cstddef>
#include <cstdint>
#include <optional>

#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {

namespace {

/// A frame header of at least 8 bytes, from its length on.
struct FoundFrame {
  std::size_t at = 0;
  std::uint32_t marker = 0;
  std::uint32_t length = 0;
};

std::optional<FoundFrame> find_frame(const ByteReader& in) {
  for (std::size_t at = jpeg_marker::next(in, 2); in.has(at, 2); at = jpeg_marker::next(in, at)) {
    const std::uint32_t marker = in.u8(at + 1);
    at += 2;
    if (jpeg_marker::is_alone(marker)) continue;
    if (marker == jpeg_marker::k_sos || marker == jpeg_marker::k_eoi || marker == jpeg_marker::k_soi) break;
    if (!in.has(at, 2)) break;
    const std::uint32_t length = in.be16(at);
    if (jpeg_marker::is_frame_header(marker)) {
      if (length < 8 || !in.has(at, 8)) break;
      return FoundFrame{at, marker, length};
    }
    if (length < 2 || !in.has(at, length)) break;
    at += length;
  }
  return std::nullopt;
}

}  // namespace

ImageHeader probe_jpeg(const ByteReader& in) {
  ImageHeader header{.kind = ImageKind::jpeg};
  // Length, precision (1), height (2), width (2), number of components (1): T.81, B.2.2.
  if (const auto frame = find_frame(in)) {
    header.height = in.be16(frame->at + 3);
    header.width = in.be16(frame->at + 5);
    header.channels = in.u8(frame->at + 7);
  }
  return header;
}

}  // namespace bale::image_detail

namespace bale {
namespace {

using image_detail::ByteReader;

// ITU-T T.81, table B.1: C2, C6, CA and CE are progressive; C9 to CB and CD to CF are coded arithmetically.
bool is_progressive_frame(std::uint32_t marker) { return (marker & 3U) == 2U; }
bool is_arithmetic_frame(std::uint32_t marker) { return marker >= 0xC9; }

// T.81, B.2.2: of each component an identifier, the sampling factors (4 bits each) and a table.
JpegCoding read_frame(const ByteReader& in, std::size_t at, std::uint32_t marker, std::uint32_t length) {
  JpegCoding coding{.is_progressive = is_progressive_frame(marker),
                    .is_arithmetic = is_arithmetic_frame(marker),
                    .components = in.u8(at + 7)};
  const std::size_t factors = at + 9;
  if (coding.components < 3 || length < 8 + 3 * coding.components || !in.has(factors, 4)) return coding;
  const auto relative = [](std::uint32_t luma, std::uint32_t chroma) {
    return chroma != 0 && luma % chroma == 0 ? luma / chroma : 0;
  };
  coding.luma_h = relative(in.u8(factors) >> 4, in.u8(factors + 3) >> 4);
  coding.luma_v = relative(in.u8(factors) & 15U, in.u8(factors + 3) & 15U);
  return coding;
}

}  // namespace

JpegCoding read_jpeg_coding(Bytes bytes) {
  const ByteReader in(bytes);
  const auto frame = in.matches(0, "\xFF\xD8") ? image_detail::find_frame(in) : std::nullopt;
  return frame ? read_frame(in, frame->at, frame->marker, frame->length) : JpegCoding{};
}

std::string sampling_name(const JpegCoding& coding) {
  if (coding.components == 1) return "gray";
  if (coding.components == 4) return "4 components";
  if (coding.components != 3) return "other";
  switch (coding.luma_h * 10 + coding.luma_v) {
    case 11:
      return "4:4:4";
    case 21:
      return "4:2:2";
    case 22:
      return "4:2:0";
    case 12:
      return "4:4:0";
    case 41:
      return "4:1:1";
    default:
      return "other";
  }
}

}  // namespace bale
