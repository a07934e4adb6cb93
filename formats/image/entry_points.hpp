// Entry points: what is to be known of a baseline JPEG so that decoding can begin at a row in its middle. They are made
// once and kept beside the image, a few hundred bytes for an image of 100 kB; ImageDecoder::use_entry_points() takes
// them. Bytes: formats/image/ENTRY_POINTS.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/core/bytes.hpp"

namespace bale {

/// Bytes of compressed data that are worth an entry point: some seven bytes.
inline constexpr std::uint32_t k_bytes_between_entry_points = 256;

/// The entry points of an image, one at each row of MCUs, or fewer where rows are short. Empty where there can be none:
/// the image is not one that the baseline decoder reads (README.md), is damaged in any way, or too
/// small. Takes about as long as decoding the image. Safe in any thread; never throws but `std::bad_alloc`.
std::vector<std::byte> make_entry_points(Bytes image, std::uint32_t bytes_between = k_bytes_between_entry_points);

/// A record that is kept of an image, and the CRC32C of that image's bytes as they are now.
struct KeptEntryPoints {
  Bytes record{};
  std::uint32_t image_crc32c = 0;
};

/// Length and CRC32C of the image that a record was made of.
struct EntryPointsOwner {
  std::uint32_t image_bytes = 0;
  std::uint32_t image_crc32c = 0;
};

/// Nothing where the record's own checksum does not match.
std::optional<EntryPointsOwner> owner_of_entry_points(Bytes record);

}  // namespace bale
