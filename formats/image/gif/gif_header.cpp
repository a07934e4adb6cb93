// GIF89a: the screen's size and palette, then extensions and images, each with data in blocks of a length and up to 255
// bytes, ended by an empty one.
#include "bale/formats/image/gif/gif_header.hpp"

#include <algorithm>

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {
namespace {

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

}  // namespace

GifHeader read_gif_header(Bytes bytes) { return HeaderReader(bytes).read(); }

}  // namespace bale::image_detail
