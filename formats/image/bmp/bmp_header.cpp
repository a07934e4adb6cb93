// BITMAPFILEHEADER is 14 bytes: "BM", the file's size, 4 bytes of nothing, the offset of the pixels. The DIB header
// that follows begins with its own size, which tells its version: 12 (OS/2 1.x), 40, 52, 56, 64 (OS/2 2.x), 108 or 124.
#include "bale/formats/image/bmp/bmp_header.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {
namespace {

constexpr std::size_t k_dib = 14;
constexpr std::uint32_t k_raw = 0;
constexpr std::uint32_t k_rle_8 = 1;
constexpr std::uint32_t k_rle_4 = 2;
constexpr std::uint32_t k_bitfields = 3;

struct Fields {
  std::uint32_t dib_bytes = 0;
  std::uint32_t bits = 0;
  std::uint32_t compression = k_raw;
  std::uint64_t colors = 0;
  std::size_t color_bytes = 4;
  std::size_t palette_at = 0;  // after the header and the masks
};

/// The masks of red, green, blue and alpha, and where their bytes are within a pixel.
struct Layout {
  std::array<std::uint32_t, 4> masks;
  std::array<std::uint8_t, 3> order;
  std::optional<std::uint8_t> alpha{};
};

// Pillow's list. Masks that are all zero mean the usual order, with alpha.
constexpr std::array k_layouts_32{
    Layout{{0xFF0000, 0xFF00, 0xFF, 0}, {2, 1, 0}},
    Layout{{0xFF000000, 0xFF0000, 0xFF00, 0}, {3, 2, 1}},
    Layout{{0xFF000000, 0xFF00, 0xFF, 0}, {3, 1, 0}},
    Layout{{0xFF000000, 0xFF0000, 0xFF00, 0xFF}, {3, 2, 1}, 0},
    Layout{{0xFF, 0xFF00, 0xFF0000, 0xFF000000}, {0, 1, 2}, 3},
    Layout{{0xFF0000, 0xFF00, 0xFF, 0xFF000000}, {2, 1, 0}, 3},
    Layout{{0xFF000000, 0xFF00, 0xFF, 0xFF0000}, {3, 1, 0}, 2},
    Layout{{0, 0, 0, 0}, {2, 1, 0}, 3},
};

Fields read_fields(const ByteReader& in, BmpHeader& out) {
  if (!in.has(0, k_dib + 4)) fail_image(ErrorCode::damaged, "BMP: the header ends too early");
  Fields fields{.dib_bytes = in.le32(k_dib)};
  constexpr std::array<std::uint32_t, 7> k_known{12, 40, 52, 56, 64, 108, 124};
  if (std::find(k_known.begin(), k_known.end(), fields.dib_bytes) == k_known.end()) {
    throw Error(ErrorCode::unsupported, fmt::format("BMP: header of {} bytes, which no version has", fields.dib_bytes));
  }
  if (!in.has(k_dib, fields.dib_bytes)) fail_image(ErrorCode::damaged, "BMP: the header ends too early");
  fields.palette_at = k_dib + fields.dib_bytes;
  if (fields.dib_bytes == 12) {
    out.width = in.le16(18);
    out.height = in.le16(20);
    fields.bits = in.le16(24);
    fields.color_bytes = 3;
  } else {
    out.top_down = in.u8(25) == 0xFF;  // a negative height, if it is not huge
    out.width = in.le32(18);
    out.height = out.top_down ? 0u - in.le32(22) : in.le32(22);
    fields.bits = in.le16(28);
    fields.compression = in.le32(30);
    fields.colors = in.le32(46);
  }
  if (fields.colors == 0) fields.colors = fields.bits < 32 ? std::uint64_t{1} << fields.bits : 0;
  return fields;
}

std::array<std::uint32_t, 4> read_masks(const ByteReader& in, Fields& fields) {
  std::size_t at = k_dib + 40;
  if (fields.dib_bytes < 52) {  // behind the header
    at = k_dib + fields.dib_bytes;
    fields.palette_at = at + 12;
    if (!in.has(at, 12)) fail_image(ErrorCode::damaged, "BMP: the header ends too early");
  }
  return {in.le32(at), in.le32(at + 4), in.le32(at + 8), fields.dib_bytes >= 56 ? in.le32(at + 12) : 0};
}

/// Pixels of 16, 24 or 32 bits with masks.
void set_masked(const ByteReader& in, Fields& fields, BmpHeader& out) {
  const std::array<std::uint32_t, 4> masks = read_masks(in, fields);
  const auto colors_are = [&](std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
    return masks[0] == red && masks[1] == green && masks[2] == blue;
  };
  if (fields.bits == 16 && colors_are(0xF800, 0x7E0, 0x1F)) {
    out.pixels = BmpPixels::rgb_565;
  } else if (fields.bits == 16 && colors_are(0x7C00, 0x3E0, 0x1F)) {
    out.pixels = BmpPixels::rgb_555;
  } else if (fields.bits == 24 && colors_are(0xFF0000, 0xFF00, 0xFF)) {
    out.order = {2, 1, 0};
  } else {
    const auto found = std::find_if(k_layouts_32.begin(), k_layouts_32.end(),
                                    [&](const Layout& layout) { return layout.masks == masks; });
    if (fields.bits != 32 || found == k_layouts_32.end()) {
      fail_image(ErrorCode::unsupported, "BMP: color masks that Pillow does not read");
    }
    out.order = found->order;
    out.alpha = found->alpha;
  }
}

/// Indices into a palette, which may turn out to be those of grays.
void set_indexed(const ByteReader& in, const Fields& fields, BmpHeader& out) {
  if (fields.colors == 0 || fields.colors > 65536) {
    throw Error(ErrorCode::unsupported, fmt::format("BMP: palette of {} colors", fields.colors));
  }
  const std::size_t begin = std::min(fields.palette_at, in.size());
  const std::size_t num_bytes = std::min<std::size_t>(fields.colors * fields.color_bytes, in.size() - begin);
  bool is_gray = true;
  for (std::size_t i = 0; i < fields.colors; ++i) {
    const std::size_t at = i * fields.color_bytes;
    if (at + 3 > num_bytes) {
      is_gray = false;
      break;
    }
    const Rgb color{in.data()[begin + at + 2], in.data()[begin + at + 1], in.data()[begin + at]};
    const auto expected = static_cast<std::uint8_t>(fields.colors == 2 ? i * 255 : i);
    if (color.red != expected || color.green != expected || color.blue != expected) is_gray = false;
    if (i < out.palette.size() && at + fields.color_bytes <= num_bytes) out.palette[i] = color;
  }
  if (is_gray) {
    out.pixels = fields.colors <= 2 ? BmpPixels::bits_1 : BmpPixels::bytes;
    return;
  }
  if (num_bytes / fields.color_bytes > out.palette.size()) {
    throw Error(ErrorCode::unsupported, fmt::format("BMP: palette of {} colors", fields.colors));
  }
  out.pixels = fields.bits == 1 ? BmpPixels::palette_1 : fields.bits == 4 ? BmpPixels::palette_4 : BmpPixels::palette_8;
}

std::size_t bits_read(const BmpHeader& header, std::uint32_t bits) {
  if (header.pixels == BmpPixels::bits_1) return 1;
  if (header.pixels == BmpPixels::bytes) return 8;
  return bits;
}

}  // namespace

BmpHeader read_bmp_header(Bytes bytes) {
  const ByteReader in(bytes);
  BmpHeader out;
  Fields fields = read_fields(in, out);
  constexpr std::array<std::uint32_t, 6> k_bits{1, 4, 8, 16, 24, 32};
  if (std::find(k_bits.begin(), k_bits.end(), fields.bits) == k_bits.end()) {
    throw Error(ErrorCode::unsupported, fmt::format("BMP: pixels of {} bits", fields.bits));
  }
  out.pixel_bytes = fields.bits / 8;
  if (fields.bits == 32) out.channels = 4;
  out.order = {2, 1, 0};
  const bool indexed = fields.bits <= 8;
  const bool packed = fields.compression == k_rle_8 || fields.compression == k_rle_4;
  const bool masked = fields.compression == k_bitfields;
  if ((!packed && !masked && fields.compression != k_raw) || (packed && !indexed) || (masked && indexed)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("BMP: compression {} of pixels of {} bits", fields.compression, fields.bits));
  }
  if (masked) {
    set_masked(in, fields, out);
  } else if (indexed) {
    set_indexed(in, fields, out);
  } else if (fields.bits == 16) {
    out.pixels = BmpPixels::rgb_555;
  }
  if (packed) out.rle = fields.compression == k_rle_4 ? BmpRle::rle_4 : BmpRle::rle_8;
  const std::size_t after_palette = fields.palette_at + (indexed ? fields.colors * fields.color_bytes : 0);
  out.offset = in.le32(10);
  if (out.offset == 0) out.offset = std::min(after_palette, in.size());
  if (indexed && out.offset == k_dib + fields.dib_bytes) out.offset += fields.colors * fields.color_bytes;
  out.stride = ((std::uint64_t{out.width} * fields.bits + 31) >> 3) & ~std::uint64_t{3};
  out.row_bytes = (std::uint64_t{out.width} * bits_read(out, fields.bits) + 7) / 8;
  return out;
}

}  // namespace bale::image_detail
