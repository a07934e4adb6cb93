// The compression of a whole file, detected by its first bytes.
//
// Threads: the functions may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale {

enum class Compression : std::uint8_t { none, gzip, zlib, zstd, bzip2, xz, lzma, lzip, lz4, compress };

/// `head`: at least the first 16 bytes, or all of a shorter file.
Compression compression_of(Bytes head);

/// Whether a file begins like a zstd frame or a skippable one.
bool begins_like_zstd(Bytes head);

/// "bzip2", as in messages.
std::string_view name_of(Compression compression);

/// Throws `unsupported` if the file is compressed as a whole. For formats that are not read so, when a file is not what
/// it should be.
void refuse_compressed(const std::string& path, Bytes head);

// Inflation: how large a few compressed bytes may become. With this limit, the input bounds the memory and the disk
// space that reading it takes.
//
// Data that is worth compressing becomes 2 to 100 times as large. zstd can turn one byte into 32,768, bzip2 and xz into
// thousands. Only files made to exhaust a reader, or almost empty ones, come near that.

/// Per compressed byte: deflate's own limit, which no zlib stream exceeds.
inline constexpr std::uint64_t k_max_inflation = 1032;
/// The total that may exceed this rate: in memory for the fields of one sample, on disk for one archive.
inline constexpr std::uint64_t k_inflation_allowance = std::uint64_t{256} << 20;

/// For one sample or one archive. Packing uses it too, so that it packs nothing that reading would refuse.
class InflationBudget {
 public:
  explicit InflationBudget(std::uint64_t allowance = k_inflation_allowance) : left_(allowance) {}

  /// Whether `stored_bytes` may become `plain_bytes`. The sum of all calls counts, in any order.
  bool take(std::uint64_t stored_bytes, std::uint64_t plain_bytes) {
    if (plain_bytes / k_max_inflation <= stored_bytes) return true;
    if (plain_bytes > left_) return false;
    left_ -= plain_bytes;
    return true;
  }

 private:
  std::uint64_t left_;
};

// A zstd frame that holds its content unchanged: one raw block, for content that does not compress. Any zstd decoder
// reads it, and any part of the content is readable in the file without a decoder.
//
// RFC 8878, sections 3.1.1 and 3.1.1.2: magic number, frame header (single segment, content size, checksum), one block
// header, the content, and the low 32 bits of its XXH64.
//
// Threads: the functions may be called from any thread.

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
