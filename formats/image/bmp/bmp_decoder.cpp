#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {
namespace {

// A BMP's header as Pillow's BmpImagePlugin understands it. BITMAPFILEHEADER is 14 bytes: "BM", the file's size, 4
// bytes of nothing, the offset of the pixels. The DIB header that follows begins with its own size, which tells its
// version: 12 (OS/2 1.x), 40, 52, 56, 64 (OS/2 2.x), 108 or 124.

enum class BmpPixels : std::uint8_t {
  bits_1,     // black and white
  bytes,      // 8-bit gray
  palette_1,  // indices
  palette_4,
  palette_8,
  rgb_555,
  rgb_565,
  channels,  // bytes of color, at `order`
};

enum class BmpRle : std::uint8_t { none, rle_8, rle_4 };

struct BmpHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool top_down = false;
  BmpPixels pixels = BmpPixels::channels;
  BmpRle rle = BmpRle::none;
  std::uint32_t pixel_bytes = 0;        // of `channels`
  std::array<std::uint8_t, 3> order{};  // where red, green and blue are within the pixel
  std::optional<std::uint8_t> alpha{};  // where alpha is within the pixel
  std::size_t stride = 0;               // from row to row
  std::size_t row_bytes = 0;            // of a row that are read
  std::size_t offset = 0;               // of the pixels
  std::uint32_t channels = 3;           // in the file: 4 of 32 bits
  std::array<Rgb, 256> palette{};       // black after its end
};

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

/// Throws `damaged` or `unsupported`.
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

// Pairs of bytes: a count and what is repeated, or 0 and an escape: 0 ends the row, 1 ends the bitmap, 2 skips pixels,
// and more is a number of pixels that follow as they are, up to an even offset in the file. What is wrong in a file
// shows in Pillow's way: a run ends with its row, unrepeated pixels do not, and skipped ones have index 0.

class RleReader {
 public:
  RleReader(Bytes bytes, const BmpHeader& header, std::uint8_t* out)
      : in_(bytes),
        at_(header.offset),
        nibbles_(header.rle == BmpRle::rle_4),
        width_(header.width),
        size_(std::size_t{header.width} * header.height),
        out_(out) {}

  bool read() {
    while (done_ < size_ && in_.has(at_, 2)) {
      const std::size_t count = in_.u8(at_);
      const std::uint32_t what = in_.u8(at_ + 1);
      at_ += 2;
      if (count != 0) {
        run(count, what);
      } else if (what == 0) {
        skip((width_ - done_ % width_) % width_);
        x_ = 0;
      } else if (what == 1 || !escape(what)) {
        break;
      }
    }
    return done_ == size_;
  }

 private:
  void push(std::uint32_t index) {
    if (done_ < size_) out_[done_++] = static_cast<std::uint8_t>(index);
  }

  void run(std::size_t count, std::uint32_t what) {
    if (x_ + count > width_) count = x_ < width_ ? width_ - x_ : 0;
    for (std::size_t i = 0; i < count; ++i) push(!nibbles_ ? what : i % 2 == 0 ? what >> 4 : what & 15);
    x_ += count;
  }

  void skip(std::size_t count) {
    count = std::min(count, size_ - done_);
    std::memset(out_ + done_, 0, count);
    done_ += count;
  }

  /// False if nothing can follow.
  bool escape(std::uint32_t what) {
    if (what == 2) {
      if (!in_.has(at_, 2)) return false;
      skip(in_.u8(at_) + in_.u8(at_ + 1) * width_);
      x_ = done_ % width_;
      at_ += 2;
      return true;
    }
    const std::size_t count = std::min<std::size_t>(size_ - done_, what);
    const std::size_t num_bytes = nibbles_ ? (count + 1) / 2 : count;
    const std::size_t there = std::min(num_bytes, in_.size() - at_);
    for (std::size_t i = 0; i < there; ++i) {
      const std::uint32_t byte = in_.u8(at_ + i);
      push(nibbles_ ? byte >> 4 : byte);
      if (nibbles_ && i * 2 + 1 < count) push(byte & 15);
    }
    at_ += there;
    if (there < num_bytes) return false;
    x_ += what;
    at_ += at_ % 2;
    return true;
  }

  ByteReader in_;
  std::size_t at_;
  bool nibbles_;
  std::size_t width_;
  std::size_t size_;
  std::uint8_t* out_;
  std::size_t done_ = 0;
  std::size_t x_ = 0;  // as far as runs are concerned
};

/// Run-length coded pixels, read as Pillow reads them. Fills width * height indices, in the order of the file. Throws
/// `damaged` if the data ends before the last pixel.
void read_bmp_rle(Bytes bytes, const BmpHeader& header, std::uint8_t* indices) {
  if (!RleReader(bytes, header, indices).read()) fail_image(ErrorCode::damaged, "BMP: image data ends too early");
}

constexpr std::uint32_t scaled(std::uint32_t value, std::uint32_t max) { return value * 255 / max; }

Rgb rgb_16(const std::uint8_t* in, bool is_565) {
  const std::uint32_t pixel = in[0] | in[1] << 8;
  const std::uint32_t green_max = is_565 ? 63 : 31;
  return {static_cast<std::uint8_t>(scaled(pixel >> (is_565 ? 11 : 10) & 31, 31)),
          static_cast<std::uint8_t>(scaled(pixel >> 5 & green_max, green_max)),
          static_cast<std::uint8_t>(scaled(pixel & 31, 31))};
}

Rgb pixel_of(const BmpHeader& header, const std::uint8_t* row, std::size_t x) {
  switch (header.pixels) {
    case BmpPixels::bits_1:
      return gray((row[x / 8] >> (7 - x % 8) & 1) != 0 ? 255 : 0);
    case BmpPixels::bytes:
      return gray(row[x]);
    case BmpPixels::palette_1:
      return header.palette[row[x / 8] >> (7 - x % 8) & 1];
    case BmpPixels::palette_4:
      return header.palette[row[x / 2] >> (x % 2 == 0 ? 4 : 0) & 15];
    case BmpPixels::palette_8:
      return header.palette[row[x]];
    case BmpPixels::rgb_555:
    case BmpPixels::rgb_565:
      return rgb_16(row + x * 2, header.pixels == BmpPixels::rgb_565);
    case BmpPixels::channels:
      break;
  }
  const std::uint8_t* const pixel = row + x * header.pixel_bytes;
  return {pixel[header.order[0]], pixel[header.order[1]], pixel[header.order[2]]};
}

/// Whether the rows are all there. Those of a packed bitmap have no known length.
bool has_rows(Bytes bytes, const BmpHeader& header) {
  if (header.rle != BmpRle::none || header.width == 0 || header.height == 0) return false;
  if (header.row_bytes > header.stride || header.offset > bytes.size()) return false;
  const std::size_t rest = bytes.size() - header.offset;
  return header.row_bytes <= rest && header.height - 1 <= (rest - header.row_bytes) / header.stride;
}

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const BmpHeader header = read_bmp_header(bytes);
  check_pixel_budget(header.width, header.height, max_pixels);
  if (header.rle == BmpRle::none && !has_rows(bytes, header)) {
    fail_image(ErrorCode::damaged, "BMP: image data ends too early");
  }
  return {.kind = ImageKind::bmp, .width = header.width, .height = header.height, .channels = header.channels};
}

template <std::size_t pixel_bytes>
void decode_as(Bytes bytes, std::uint64_t, std::uint8_t* pixels) {
  BmpHeader header = read_bmp_header(bytes);
  const std::size_t num_pixels = std::size_t{header.width} * header.height;
  std::unique_ptr<std::uint8_t[]> indices;
  const std::uint8_t* rows = as_uchar(bytes) + header.offset;
  if (header.rle != BmpRle::none) {
    indices = std::make_unique<std::uint8_t[]>(num_pixels);
    read_bmp_rle(bytes, header, indices.get());
    rows = indices.get();
    header.stride = header.width;
    // Black and white that is packed has a byte per pixel too, and every one but 0 is white.
    if (header.pixels == BmpPixels::bits_1) {
      header.palette.fill(gray(255));
      header.palette[0] = {};
    }
    if (header.pixels != BmpPixels::bytes) header.pixels = BmpPixels::palette_8;
  }
  for (std::uint32_t y = 0; y < header.height; ++y) {
    const std::uint32_t at = header.top_down ? y : header.height - 1 - y;
    std::uint8_t* out = pixels + std::size_t{at} * header.width * pixel_bytes;
    const std::uint8_t* const row = rows + y * header.stride;
    for (std::size_t x = 0; x < header.width; ++x, out += pixel_bytes) {
      put(out, pixel_of(header, row, x));
      if constexpr (pixel_bytes == 4) out[3] = header.alpha ? row[x * header.pixel_bytes + *header.alpha] : 255;
    }
  }
}

bool has_end(Bytes bytes) {
  return holds([&] { return has_rows(bytes, read_bmp_header(bytes)); });
}

}  // namespace

const WholeCodec k_bmp_codec{open, decode_as<3>, has_end, decode_as<4>};

}  // namespace bale::image_detail
