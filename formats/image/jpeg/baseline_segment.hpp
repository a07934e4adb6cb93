// The entropy-coded bytes between two markers, without byte stuffing (T.81, B.1.1.5); internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// Copies one segment at a time into memory of its own, zeros behind it, so that a reader of bits may run past the end
/// by k_padding_bytes before it looks where it is.
class SegmentReader {
 public:
  static constexpr std::size_t k_padding_bytes = 256;
  /// In place of a marker: the bytes end, or do not look like a scan's.
  static constexpr std::uint32_t k_no_marker = 0;

  /// Starts at the first byte of a scan; `scan` must outlive the reading.
  void open(Bytes scan);
  /// The next segment, to its marker, replaces the one before.
  void next();

  const std::uint8_t* data() const { return buffer_.get(); }
  std::size_t size() const { return size_; }
  /// What ended it, the byte after 0xFF.
  std::uint32_t marker() const { return marker_; }
  /// Where in the scan its byte `index` lies; to be asked for rising indexes, size() at most.
  std::size_t raw_offset(std::size_t index);

 private:
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t capacity_ = 0;
  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* rest_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t marker_ = k_no_marker;
  // How far raw_offset() has come, and where that is.
  std::size_t walked_ = 0;
  const std::uint8_t* walked_to_ = nullptr;
};

}  // namespace bale::image_detail
