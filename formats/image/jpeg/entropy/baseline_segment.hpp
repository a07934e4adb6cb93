// The entropy-coded bytes between two markers, without byte stuffing (T.81, B.1.1.5); internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/codec/reused_memory.hpp"

namespace bale::image_detail {

/// The next bits of a segment: unused bits, at least `count` of them, from the top; `next` is the byte after them.
struct BitWindow {
  std::uint64_t bits = 0;
  std::uint32_t count = 0;
  const std::uint8_t* next = nullptr;

  /// At least 56 bits are there after it. Reads up to eight bytes.
  void refill() {
    std::uint64_t bytes;
    std::memcpy(&bytes, next, sizeof(bytes));
    bits |= __builtin_bswap64(bytes) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  void use(std::uint32_t num_bits) {
    bits <<= num_bits;
    count -= num_bits;
  }
  /// The top `num_bits` bits, 0 to 63 of them.
  std::uint64_t top(std::uint32_t num_bits) const { return bits >> 1 >> (63 - num_bits); }
};

/// Copies one segment at a time into its own memory, with zeros after it. A bit reader may read up to k_padding_bytes
/// past the end before it checks its position.
class SegmentReader {
 public:
  static constexpr std::size_t k_padding_bytes = 256;
  /// Instead of a marker: the bytes end, or do not look like a scan.
  static constexpr std::uint32_t k_no_marker = 0;

  /// Starts at the first byte of a scan, which must outlive the reading.
  void open(Bytes scan);
  /// Reads the next segment, up to its marker. It replaces the previous one.
  void next();

  const std::uint8_t* data() const { return buffer_.data(); }
  std::size_t size() const { return size_; }
  /// The marker that ended the segment: the byte after 0xFF.
  std::uint32_t marker() const { return marker_; }
  /// The bytes after that marker.
  Bytes rest() const { return {reinterpret_cast<const std::byte*>(rest_), static_cast<std::size_t>(end_ - rest_)}; }
  /// The offset in the scan of the segment's byte `index`. Indexes must ascend, up to size().
  std::size_t raw_offset(std::size_t index);

 private:
  ReusedMemory buffer_{std::size_t{1} << 20};  // more than most JPEGs have
  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* rest_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t marker_ = k_no_marker;
  // How far raw_offset() has walked, and where that is in the scan.
  std::size_t walked_ = 0;
  const std::uint8_t* walked_to_ = nullptr;
};

/// Removes byte stuffing (T.81, B.1.1.5) from entropy-coded bytes. In SIMD chosen at run time.
/// How far removing has come: the next byte to read, and where it goes.
struct UnstuffedTo {
  const std::uint8_t* from = nullptr;
  std::uint8_t* to = nullptr;
};

/// Up to this many bytes after those that are written may be overwritten.
constexpr std::size_t k_unstuffing_padding = 64;

/// Copies bytes from `from` on, of each 0xFF 0x00 only the 0xFF. Stops before a marker, or a few bytes before `end`.
UnstuffedTo remove_stuffing(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to);

}  // namespace bale::image_detail
