#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {
namespace {

// GIF's LZW codes as color indices.

/// Gives the strings of indices that the codes stand for. What is wrong in a file has the effect that it has in
/// Pillow's decoder: codes may continue after the end code and after an empty block, and a full table stays as it is.
class GifCodes {
 public:
  /// `bits` is at most 12. `bytes` must outlive this.
  GifCodes(Bytes bytes, std::size_t offset, std::uint32_t bits);

  struct String {
    const std::uint8_t* indices;
    std::size_t length;
  };
  /// The next string, never empty. Lifetime: until the next call. Throws `damaged`, also at the end of the bytes.
  String next();

 private:
  static constexpr std::uint32_t k_max_bits = 12;
  static constexpr std::size_t k_table = std::size_t{1} << k_max_bits;

  std::uint32_t read_code();
  void clear();
  String expand(std::uint32_t code);

  ByteReader in_;
  std::size_t at_;
  std::size_t left_in_block_ = 0;
  std::uint64_t bits_ = 0;
  std::uint32_t num_bits_ = 0;

  std::uint32_t first_bits_;
  std::uint32_t clear_;
  std::uint32_t code_bits_ = 0;
  std::uint32_t next_ = 0;       // the first code without a string
  std::uint32_t last_ = 0;       // the code before
  std::uint8_t last_first_ = 0;  // the first index of its string
  bool fresh_ = true;            // nothing came since the table was cleared

  // Of a code: the last index of its string, and the code of all that precedes it.
  std::array<std::uint8_t, k_table> index_;
  std::array<std::uint16_t, k_table> prefix_;
  std::array<std::uint8_t, k_table> string_;  // filled from its end
};

[[noreturn]] void fail_code() { fail_image(ErrorCode::damaged, "GIF: a code that stands for nothing"); }

GifCodes::GifCodes(Bytes bytes, std::size_t offset, std::uint32_t bits)
    : in_(bytes), at_(offset), first_bits_(bits + 1), clear_(std::uint32_t{1} << bits) {
  clear();
}

void GifCodes::clear() {
  next_ = clear_ + 2;
  code_bits_ = first_bits_;
  fresh_ = true;
}

std::uint32_t GifCodes::read_code() {
  while (num_bits_ < code_bits_) {
    if (left_in_block_ == 0) {
      // A block counts only if all of it is there.
      if (!in_.has(at_, 1) || !in_.has(at_ + 1, in_.u8(at_))) {
        fail_image(ErrorCode::damaged, "GIF: image data ends too early");
      }
      left_in_block_ = in_.u8(at_++);
      continue;
    }
    bits_ |= std::uint64_t{in_.u8(at_++)} << num_bits_;
    num_bits_ += 8;
    --left_in_block_;
  }
  const auto code = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << code_bits_) - 1));
  bits_ >>= code_bits_;
  num_bits_ -= code_bits_;
  return code;
}

GifCodes::String GifCodes::next() {
  for (;;) {
    const std::uint32_t code = read_code();
    if (code == clear_) {
      if (!fresh_) clear();
      continue;
    }
    if (code == clear_ + 1) continue;  // the end, which counts only if the image is complete
    if (!fresh_) return expand(code);
    if (code > clear_) fail_code();
    fresh_ = false;
    last_ = code;
    last_first_ = static_cast<std::uint8_t>(code);
    return {&last_first_, 1};
  }
}

GifCodes::String GifCodes::expand(std::uint32_t code) {
  if (code > next_) fail_code();
  std::size_t begin = string_.size();
  std::uint32_t at = code;
  if (code == next_) {  // the string that is just being made: the last one, and its first index again
    string_[--begin] = last_first_;
    at = last_;
  }
  for (; at >= clear_; at = prefix_[at]) {
    if (begin == 0 || at >= k_table || at < clear_ + 2) fail_code();
    string_[--begin] = index_[at];
  }
  if (begin == 0) fail_code();
  string_[--begin] = last_first_ = static_cast<std::uint8_t>(at);
  if (next_ < k_table) {
    index_[next_] = last_first_;
    prefix_[next_] = static_cast<std::uint16_t>(last_);
    const bool is_last_of_its_length = next_ == (std::uint32_t{1} << code_bits_) - 1;
    if (is_last_of_its_length && code_bits_ < k_max_bits) ++code_bits_;
    ++next_;
  }
  last_ = code;
  return {string_.data() + begin, string_.size() - begin};
}

/// What precedes the pixels of a GIF's first frame, as Pillow's GifImagePlugin reads it.
struct GifHeader {
  std::uint32_t width = 0;  // of the screen, or of what the first frame needs if that is larger
  std::uint32_t height = 0;
  Region frame{};
  bool interlaced = false;
  std::uint8_t background = 0;  // the index of pixels outside the frame
  bool transparent = false;     // whether pixels of this index are
  std::uint32_t code_bits = 0;  // of a color index
  std::size_t offset = 0;       // of the blocks with the pixels
  std::array<Rgb, 256> palette{};
};

// GIF89a: the screen's size and palette, then extensions and images, each with data in blocks of a length and up to 255
// bytes, ended by an empty one.

constexpr std::uint32_t k_image = ',';
constexpr std::uint32_t k_extension = '!';
constexpr std::uint32_t k_trailer = ';';
constexpr std::uint32_t k_graphic_control = 249;
constexpr std::uint32_t k_comment = 254;
constexpr std::uint32_t k_application = 255;

class HeaderReader {
 public:
  explicit HeaderReader(Bytes bytes) : in_(bytes) {}

  GifHeader read() {
    require(13);
    out_.width = in_.le16(6);
    out_.height = in_.le16(8);
    const std::uint32_t flags = in_.u8(10);
    at_ = 13;
    // Without any palette an index is a gray.
    for (std::size_t i = 0; i < out_.palette.size(); ++i) out_.palette[i] = gray(static_cast<std::uint8_t>(i));
    if ((flags & 128) != 0) read_palette(flags);
    while (in_.has(at_, 1)) {
      const std::uint32_t kind = in_.u8(at_++);
      if (kind == k_trailer) break;
      if (kind == k_extension) read_extension();
      if (kind != k_image) continue;
      read_image();
      return out_;
    }
    fail_image(ErrorCode::damaged, "GIF: no image in it");
  }

 private:
  void require(std::size_t length) const {
    if (!in_.has(at_, length)) fail_image(ErrorCode::damaged, "GIF: the header ends too early");
  }

  /// The next block, which ends with the file at the latest. Empty if it is the last one.
  struct Block {
    std::size_t begin;
    std::size_t length;
  };
  Block next_block() {
    if (!in_.has(at_, 1)) return {at_, 0};
    const std::size_t begin = at_ + 1;
    const std::size_t length = std::min<std::size_t>(in_.u8(at_), in_.size() - begin);
    at_ = begin + length;
    return {begin, length};
  }

  /// A palette that only says that index i is the gray i counts for nothing with Pillow: the screen's palette stays
  /// then, and without one every index is a gray, even one after the palette's end. After other palettes there is
  /// black.
  void read_palette(std::uint32_t flags) {
    const std::size_t count = std::size_t{2} << (flags & 7);
    require(count * 3);
    std::array<Rgb, 256> colors{};
    bool is_gray_ramp = true;
    for (std::size_t i = 0; i < count; ++i, at_ += 3) {
      colors[i] = {in_.data()[at_], in_.data()[at_ + 1], in_.data()[at_ + 2]};
      is_gray_ramp = is_gray_ramp && colors[i].red == i && colors[i].green == i && colors[i].blue == i;
    }
    if (!is_gray_ramp) out_.palette = colors;
  }

  /// As Pillow, which skips up to an empty block once more after a first block that is empty.
  void read_extension() {
    require(1);
    const std::uint32_t kind = in_.u8(at_++);
    Block block = next_block();
    if (kind == k_graphic_control && block.length != 0) {
      const bool transparent = (in_.u8(block.begin) & 1) != 0;
      if (block.length < (transparent ? 4u : 3u)) fail_image(ErrorCode::damaged, "GIF: a control block is too short");
      if (transparent) out_.background = static_cast<std::uint8_t>(in_.u8(block.begin + 3));
      out_.transparent = out_.transparent || transparent;
    } else if (kind == k_comment) {
      while (block.length != 0) block = next_block();
      return;
    } else if (kind == k_application && block.length >= 11 && in_.matches(block.begin, "NETSCAPE2.0")) {
      next_block();
    }
    while (next_block().length != 0) {
    }
  }

  void read_image() {
    require(9);
    out_.frame = {.x = in_.le16(at_), .y = in_.le16(at_ + 2), .width = in_.le16(at_ + 4), .height = in_.le16(at_ + 6)};
    out_.width = std::max(out_.width, out_.frame.x + out_.frame.width);
    out_.height = std::max(out_.height, out_.frame.y + out_.frame.height);
    const std::uint32_t flags = in_.u8(at_ + 8);
    at_ += 9;
    out_.interlaced = (flags & 64) != 0;
    if ((flags & 128) != 0) read_palette(flags);
    require(1);
    out_.code_bits = in_.u8(at_++);
    out_.offset = at_;
  }

  ByteReader in_;
  std::size_t at_ = 0;
  GifHeader out_{};
};

GifHeader read_gif_header(Bytes bytes) { return HeaderReader(bytes).read(); }

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
  return holds([&] {
    const ByteReader in(bytes);
    std::size_t at = read_gif_header(bytes).offset;
    while (in.has(at, 1) && in.u8(at) != 0) at += 1 + in.u8(at);
    return in.has(at, 1);
  });
}

}  // namespace

const WholeCodec k_gif_codec{open, decode_as<3>, has_end, decode_as<4>};

}  // namespace bale::image_detail
