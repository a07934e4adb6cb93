// Seek points: the decoder states of a baseline JPEG from which decoding can start at a row in the middle (zran and
// indexed_gzip call them seek points). They are made once and kept next to the image, a few hundred bytes for an image
// of 100 kB. ImageDecoder::use_seek_points() uses them. Format: formats/image/jpeg/SEEK_POINTS.md.
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// Default distance of two seek points, in bytes of compressed data. An seek point has about seven bytes.
inline constexpr std::uint32_t k_bytes_between_seek_points = 256;

/// Makes the seek points of an image: one at each row of MCUs, or at every n-th row if rows have fewer than
/// `bytes_between` bytes. Takes about as long as decoding the image. Empty if the image is not a JPEG that the baseline
/// decoder reads (formats/image/README.md), has any defect, or is too small. Throws only `std::bad_alloc`.
std::vector<std::byte> make_seek_points(Bytes image, std::uint32_t bytes_between = k_bytes_between_seek_points);

/// Stored seek points of an image, and the CRC32C of the image's bytes as they are now. Borrows.
struct KeptSeekPoints {
  Bytes record{};
  std::uint32_t image_crc32c = 0;
};

/// Length in bytes and CRC32C of the image that a record was made from.
struct SeekPointsOwner {
  std::uint32_t image_bytes = 0;
  std::uint32_t image_crc32c = 0;
};

/// Reads them from a record. nullopt if the record does not match its own checksum.
std::optional<SeekPointsOwner> owner_of_seek_points(Bytes record);

}  // namespace bale
