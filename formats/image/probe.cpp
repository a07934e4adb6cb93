#include <limits>
#include <utility>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/metadata/orientation.hpp"
#include "bale/formats/image/metadata/tiff_directory.hpp"

namespace bale {
namespace {

using image_detail::ByteReader;

// PNG (ISO/IEC 15948), 11.2.2: the signature, then IHDR with width, height, bit depth and color type.
ImageHeader probe_png(const ByteReader& in) {
  ImageHeader header{.kind = ImageKind::png};
  if (!in.matches(12, "IHDR") || !in.has(16, 10)) return header;
  header.width = in.be32(16);
  header.height = in.be32(20);
  switch (in.u8(25)) {
    case 0:
      header.channels = 1;
      break;
    case 2:
    case 3:  // palette: the file holds indices, the image has colors
      header.channels = 3;
      break;
    case 4:
      header.channels = 2;
      break;
    case 6:
      header.channels = 4;
      break;
    default:
      break;
  }
  return header;
}

// BITMAPFILEHEADER (14 bytes), then a DIB header that begins with its own size. 12 is the OS/2 header with 16-bit
// sides; the others begin like BITMAPINFOHEADER. A negative height means rows from top to bottom.
ImageHeader probe_bmp(const ByteReader& in) {
  if (!in.has(14, 12)) return {};
  const std::uint32_t dib_bytes = in.le32(14);
  ImageHeader header{.kind = ImageKind::bmp};
  std::uint32_t bits = 0;
  if (dib_bytes == 12) {
    header.width = in.le16(18);
    header.height = in.le16(20);
    bits = in.le16(24);
  } else if (dib_bytes >= 16 && dib_bytes <= 124 && in.has(18, 12)) {
    header.width = in.le32(18);
    const std::uint32_t height = in.le32(22);
    header.height = (height & 0x80000000u) != 0 ? 0u - height : height;
    bits = in.le16(28);
  } else {
    return {};
  }
  header.channels = bits == 32 ? 4 : 3;
  return header;
}

// GIF89a specification, 18: the logical screen descriptor follows the 6-byte signature.
ImageHeader probe_gif(const ByteReader& in) {
  ImageHeader header{.kind = ImageKind::gif};
  if (!in.has(6, 4)) return header;
  header.width = in.le16(6);
  header.height = in.le16(8);
  header.channels = 3;
  return header;
}

// WebP container specification: RIFF, size, WEBP, then a first chunk whose type is the variant.
ImageHeader probe_webp(const ByteReader& in) {
  ImageHeader header{.kind = ImageKind::webp};
  if (in.matches(12, "VP8 ") && in.has(20, 10)) {
    // RFC 6386, 9.1: a 3-byte frame tag, the start code 9D 01 2A, then 14-bit sides below 2 bits of scale.
    if (!in.matches(23, "\x9D\x01\x2A")) return header;
    header.width = in.le16(26) & 0x3FFF;
    header.height = in.le16(28) & 0x3FFF;
    header.channels = 3;
  } else if (in.matches(12, "VP8L") && in.has(20, 5) && in.u8(20) == 0x2F) {
    const std::uint32_t bits = in.le32(21);  // 14 bits width - 1, 14 bits height - 1, 1 bit alpha
    header.width = (bits & 0x3FFF) + 1;
    header.height = ((bits >> 14) & 0x3FFF) + 1;
    header.channels = (bits >> 28 & 1) != 0 ? 4 : 3;
  } else if (in.matches(12, "VP8X") && in.has(20, 10)) {
    header.width = in.le24(24) + 1;
    header.height = in.le24(27) + 1;
    header.channels = (in.u8(20) & 0x10) != 0 ? 4 : 3;
  }
  return header;
}

// Type 3 is SHORT, 4 is LONG; both are at the start of the value.
ImageHeader probe_tiff(const ByteReader& in, Bytes bytes, bool big_endian) {
  const image_detail::TiffDirectory tiff(in, big_endian);
  ImageHeader header{.kind = ImageKind::tiff};
  for (std::size_t i = 0; i < tiff.entries(); ++i) {
    const std::uint32_t type = tiff.type(i);
    if (type != 3 && type != 4) continue;
    const std::size_t value_at = tiff.entry(i) + 8;
    const std::uint32_t value = type == 3 ? tiff.u16(value_at) : tiff.u32(value_at);
    if (tiff.tag(i) == 256) header.width = value;
    if (tiff.tag(i) == 257) header.height = value;
    if (tiff.tag(i) == 277) header.channels = value;  // SamplesPerPixel
  }
  if (image_detail::tiff_orientation(bytes) >= 5) std::swap(header.width, header.height);
  return header;
}

/// The header as the decoder reads it: a GIF's first frame may exceed its screen, and a TIFF's sides depend on more
/// than their tags. If it refuses the image, what the header says by itself.
ImageHeader probe_by_codec(Bytes bytes, const ImageHeader& otherwise) {
  const image_detail::WholeCodec* const codec = image_detail::whole_codec(otherwise.kind);
  if (codec == nullptr) return otherwise;
  try {
    return codec->open(bytes, std::numeric_limits<std::uint64_t>::max());
  } catch (const Error&) {
    return otherwise;
  }
}

// ISO/IEC 14496-12: a box's length, "ftyp", the brand; then a version, and brands that the file also fits. Files of
// several brands may call themselves mif1 or msf1, those of HEIF.
bool is_avif(const ByteReader& in) {
  if (!in.has(0, 12) || !in.matches(4, "ftyp")) return false;
  if (in.matches(8, "avif") || in.matches(8, "avis")) return true;
  if (!in.matches(8, "mif1") && !in.matches(8, "msf1")) return false;
  for (std::size_t at = 16; at < in.be32(0) && in.has(at, 4); at += 4) {
    if (in.matches(at, "avif") || in.matches(at, "avis")) return true;
  }
  return false;
}

bool is_jxl(const ByteReader& in) {
  return in.matches(0, "\xFF\x0A") || in.matches(0, std::string_view("\0\0\0\x0CJXL \r\n\x87\n", 12));
}

/// This walk over the markers is faster; libjpeg reads some headers that it does not.
ImageHeader probe_jpeg_file(const ByteReader& in, Bytes bytes) {
  ImageHeader header = image_detail::probe_jpeg(in);
  if (header.width != 0 && header.height != 0) return header;
  try {
    image_detail::JpegDecoder decoder;
    decoder.open(bytes);
    header.width = decoder.width();
    header.height = decoder.height();
    header.channels = decoder.channels();
  } catch (const Error&) {
    // The image cannot be decoded; the decoder reports why.
  }
  return header;
}

bool is_pnm_space(std::uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The decimal number at `at`, after white space and `#` comments; 0 if there is none or it exceeds 32 bits.
std::uint32_t read_pnm_number(const ByteReader& in, std::size_t& at) {
  while (in.has(at, 1) && (is_pnm_space(in.u8(at)) || in.u8(at) == '#')) {
    if (in.u8(at) == '#') {
      while (in.has(at, 1) && in.u8(at) != '\n' && in.u8(at) != '\r') ++at;
    } else {
      ++at;
    }
  }
  std::uint64_t value = 0;
  for (; in.has(at, 1) && in.u8(at) >= '0' && in.u8(at) <= '9'; ++at) {
    value = value * 10 + (in.u8(at) - '0');
    if (value > 0xFFFFFFFFu) return 0;
  }
  return static_cast<std::uint32_t>(value);
}

// Netpbm's formats: P1..P6, white space, width, height in ASCII; P3 and P6 are color.
ImageHeader probe_pnm(const ByteReader& in) {
  if (!in.has(2, 1) || !(is_pnm_space(in.u8(2)) || in.u8(2) == '#')) return {};
  ImageHeader header{.kind = ImageKind::pnm};
  std::size_t at = 2;
  header.width = read_pnm_number(in, at);
  header.height = read_pnm_number(in, at);
  header.channels = in.u8(1) == '3' || in.u8(1) == '6' ? 3 : 1;
  return header;
}

}  // namespace

std::string_view image_kind_name(ImageKind kind) {
  switch (kind) {
    case ImageKind::unknown:
      return "unknown";
    case ImageKind::jpeg:
      return "jpeg";
    case ImageKind::png:
      return "png";
    case ImageKind::bmp:
      return "bmp";
    case ImageKind::gif:
      return "gif";
    case ImageKind::webp:
      return "webp";
    case ImageKind::tiff:
      return "tiff";
    case ImageKind::pnm:
      return "pnm";
    case ImageKind::array:
      return "array";
    case ImageKind::avif:
      return "avif";
    case ImageKind::jxl:
      return "jxl";
  }
  return "unknown";
}

std::string_view image_field_name(ImageKind kind) {
  switch (kind) {
    case ImageKind::unknown:
      return "bin";
    case ImageKind::jpeg:
      return "jpg";
    case ImageKind::pnm:
      return "ppm";
    case ImageKind::array:
      return k_array_field;
    default:
      return image_kind_name(kind);
  }
}

namespace {

/// Of the kinds without a probe of their own only the kind. The library knows more.
ImageHeader probe_header(const ByteReader& in, Bytes bytes) {
  if (in.matches(0, "GIF87a") || in.matches(0, "GIF89a")) return probe_gif(in);
  if (in.matches(0, "RIFF") && in.matches(8, "WEBP")) return probe_webp(in);
  if (in.matches(0, std::string_view("II*\0", 4))) return probe_tiff(in, bytes, false);
  if (in.matches(0, std::string_view("MM\0*", 4))) return probe_tiff(in, bytes, true);
  const bool is_big_tiff = in.matches(0, std::string_view("II+\0", 4)) || in.matches(0, std::string_view("MM\0+", 4));
  if (is_big_tiff) return {.kind = ImageKind::tiff};
  if (is_avif(in)) return {.kind = ImageKind::avif};
  if (is_jxl(in)) return {.kind = ImageKind::jxl};
  if (in.matches(0, "BM")) return probe_bmp(in);
  if (in.matches(0, "P") && in.has(1, 1) && in.u8(1) >= '1' && in.u8(1) <= '6') return probe_pnm(in);
  return {};
}

}  // namespace

ImageHeader probe_image(Bytes bytes) {
  const ByteReader in(bytes);
  if (in.matches(0, "\xFF\xD8")) return probe_jpeg_file(in, bytes);
  if (in.matches(0, "\x89PNG\r\n\x1A\n")) return probe_png(in);
  if (in.matches(0, k_array_magic)) return image_detail::probe_array(bytes);
  return probe_by_codec(bytes, probe_header(in, bytes));
}

}  // namespace bale
