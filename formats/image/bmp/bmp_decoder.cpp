#include <algorithm>
#include <cstring>
#include <memory>

#include "bale/formats/image/bmp/bmp_header.hpp"
#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {
namespace {

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
