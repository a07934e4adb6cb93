#include "bale/formats/base/codec/raw_frame.hpp"

#include <xxhash.h>

namespace bale {
namespace {

constexpr std::uint32_t k_magic = 0xFD2FB528;
// The frame header descriptor: bits 7 and 6 are the width of the content size, 5 is single segment, 2 is checksum.
constexpr unsigned k_two_byte_size = 1U << 6;
constexpr unsigned k_four_byte_size = 2U << 6;
constexpr unsigned k_single_segment = 1U << 5;
constexpr unsigned k_has_checksum = 1U << 2;
constexpr std::size_t k_two_byte_offset = 256;  // a size of two bytes is stored less this
constexpr std::uint32_t k_last_block = 1;       // of the type raw, 0, with the size from bit 3 on
constexpr unsigned k_block_size_shift = 3;

}  // namespace

RawFrameHead raw_frame_head(std::size_t content_bytes) {
  RawFrameHead head;
  const auto put = [&](std::size_t value, int width) {
    for (int i = 0; i < width; ++i, value >>= 8) head.memory[head.size++] = static_cast<std::byte>(value & 0xFF);
  };
  const bool is_short = content_bytes - k_two_byte_offset <= 0xFFFF;
  put(k_magic, 4);
  put((is_short ? k_two_byte_size : k_four_byte_size) | k_single_segment | k_has_checksum, 1);
  put(is_short ? content_bytes - k_two_byte_offset : content_bytes, is_short ? 2 : 4);
  put(content_bytes << k_block_size_shift | k_last_block, 3);
  return head;
}

std::array<std::byte, k_raw_frame_end_bytes> raw_frame_end(Bytes content) {
  std::uint64_t hash = XXH64(content.data(), content.size(), 0);
  std::array<std::byte, k_raw_frame_end_bytes> end;
  for (std::byte& byte : end) {
    byte = static_cast<std::byte>(hash & 0xFF);
    hash >>= 8;
  }
  return end;
}

}  // namespace bale
