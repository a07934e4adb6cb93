#include "bale/formats/image/jpeg/entropy/baseline_segment.hpp"

#include <cstring>

namespace bale::image_detail {

void SegmentReader::open(Bytes scan) {
  const std::size_t needed = scan.size() + k_padding_bytes;
  buffer_.get(needed + needed / 4);
  begin_ = as_uchar(scan);
  rest_ = begin_;
  end_ = rest_ + scan.size();
  size_ = 0;
  marker_ = k_no_marker;
}

void SegmentReader::next() {
  std::uint8_t* to = buffer_.data();
  walked_ = 0;
  walked_to_ = rest_;
  marker_ = k_no_marker;
  static_assert(k_unstuffing_padding <= k_padding_bytes);
  const UnstuffedTo most = remove_stuffing(rest_, end_, to);
  rest_ = most.from;
  to = most.to;
  while (rest_ < end_) {
    const auto length = static_cast<std::size_t>(end_ - rest_);
    const auto* const found = static_cast<const std::uint8_t*>(std::memchr(rest_, 0xFF, length));
    const std::size_t plain = found == nullptr ? length : static_cast<std::size_t>(found - rest_);
    std::memcpy(to, rest_, plain);
    to += plain;
    rest_ += plain;
    if (found == nullptr || length - plain < 2) break;
    if (found[1] != 0) {
      // More than one 0xFF before a marker is allowed but not seen in practice: left to libjpeg.
      if (found[1] != 0xFF) marker_ = found[1];
      rest_ += 2;
      break;
    }
    *to++ = 0xFF;
    rest_ += 2;
  }
  size_ = static_cast<std::size_t>(to - buffer_.data());
  std::memset(to, 0, k_padding_bytes);
}

std::size_t SegmentReader::raw_offset(std::size_t index) {
  while (walked_ < index) {
    const auto* const found = static_cast<const std::uint8_t*>(std::memchr(walked_to_, 0xFF, index - walked_));
    if (found == nullptr) {
      walked_to_ += index - walked_;
      walked_ = index;
    } else {
      walked_ += static_cast<std::size_t>(found - walked_to_) + 1;
      walked_to_ = found + 2;
    }
  }
  return static_cast<std::size_t>(walked_to_ - begin_);
}

}  // namespace bale::image_detail
