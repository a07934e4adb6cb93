#include "bale/formats/image/gif/gif_codes.hpp"

#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {
namespace {

[[noreturn]] void fail_code() { fail_image(ErrorCode::damaged, "GIF: a code that stands for nothing"); }

}  // namespace

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

}  // namespace bale::image_detail
