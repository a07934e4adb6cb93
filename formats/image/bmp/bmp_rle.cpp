// Pairs of bytes: a count and what is repeated, or 0 and an escape: 0 ends the row, 1 ends the bitmap, 2 skips pixels,
// and more is a number of pixels that follow as they are, up to an even offset in the file. What is wrong in a file
// shows in Pillow's way: a run ends with its row, unrepeated pixels do not, and skipped ones have index 0.
#include "bale/formats/image/bmp/bmp_header.hpp"

#include <algorithm>
#include <cstring>

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {
namespace {

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

}  // namespace

void read_bmp_rle(Bytes bytes, const BmpHeader& header, std::uint8_t* indices) {
  if (!RleReader(bytes, header, indices).read()) fail_image(ErrorCode::damaged, "BMP: image data ends too early");
}

}  // namespace bale::image_detail
