// A zstd frame that holds its content unchanged: one raw block, for content that does not compress. Any zstd decoder
// reads it, and any part of the content is readable in the file without a decoder.
//
// RFC 8878, sections 3.1.1 and 3.1.1.2: magic number, frame header (single segment, content size, checksum), one block
// header, the content, and the low 32 bits of its XXH64.
//
// Threads: the functions may be called from any thread.
#pragma once

#include <array>
#include <cstddef>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// Content sizes of a raw frame. The most is the limit of one block.
inline constexpr std::size_t k_min_raw_frame_bytes = 256;
inline constexpr std::size_t k_max_raw_frame_bytes = std::size_t{128} << 10;

inline constexpr std::size_t k_raw_frame_end_bytes = 4;  // after the content: the checksum

/// What is before the content.
struct RawFrameHead {
  std::array<std::byte, 12> memory{};
  std::size_t size = 0;

  Bytes bytes() const { return Bytes(memory).first(size); }
};

/// Precondition: k_min_raw_frame_bytes <= content_bytes <= k_max_raw_frame_bytes.
RawFrameHead raw_frame_head(std::size_t content_bytes);
/// What is after the content.
std::array<std::byte, k_raw_frame_end_bytes> raw_frame_end(Bytes content);

}  // namespace bale
