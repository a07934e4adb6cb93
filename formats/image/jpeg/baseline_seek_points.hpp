// Seek points: where the rows of MCUs of a baseline scan start, so that decoding can start there; internal.
// As bytes: formats/image/jpeg/SEEK_POINTS.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bale/formats/image/jpeg/baseline_frame.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"

namespace bale::image_detail {

/// The state of a decoder between two rows of MCUs, past the restart marker where one is due there.
struct SeekPoint {
  std::uint64_t position = 0;  // of the next bit in the scan, byte stuffing and markers counted
  std::array<std::int32_t, 3> predictions{};
};

/// The points of one image.
struct SeekPoints {
  std::uint32_t rows_between = 1;
  /// The n-th is where row n * rows_between starts, from the image's top on; behind the last row's stands the scan's
  /// end.
  std::vector<SeekPoint> points{};

  /// The record of an image with these bytes; empty where there is no point but the first.
  std::vector<std::byte> record(Bytes image, const BaselineFrame& frame) const;
  /// Replaces what was there. False where there is no record, or not one of an image of that length and
  /// CRC32C that is like `frame`. What it accepts is safe to decode from, whatever the pixels.
  bool read(const KeptSeekPoints& kept, std::size_t image_bytes, const BaselineFrame& frame);

 private:
  bool read_points(Bytes numbers, const BaselineFrame& frame);
};

}  // namespace bale::image_detail
