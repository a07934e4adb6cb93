// Seek points: where the rows of MCUs of a baseline scan start, so that decoding can start there; internal.
// Encoding: formats/image/jpeg/SEEK_POINTS.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"

namespace bale::image_detail {

/// The state of a decoder between two rows of MCUs, after the restart marker if one is due there.
struct SeekPoint {
  std::uint64_t position = 0;  // of the next bit in the scan, including byte stuffing and markers
  std::array<std::int32_t, 3> predictions{};
};

/// The points of one image.
struct SeekPoints {
  std::uint32_t rows_between = 1;
  /// The n-th point is where row n * rows_between starts, counted from the image's top. The last one is the scan's end.
  std::vector<SeekPoint> points{};

  /// The record of the image with these bytes; empty if the first point is the only one.
  std::vector<std::byte> record(Bytes image, const BaselineFrame& frame) const;
  /// Replaces the points. False if there is no record, or if it is not of an image of that length and CRC32C that is
  /// like `frame`. Points that it accepts are safe to decode from, for any scan.
  bool read(const KeptSeekPoints& kept, std::size_t image_bytes, const BaselineFrame& frame);

 private:
  bool read_points(Bytes numbers, const BaselineFrame& frame);
};

}  // namespace bale::image_detail
