// What reading (format.cpp) and writing share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::recordio {

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

// Places: what the offset in a field's extent means if not all fields are stored in the file unchanged.
//
// A plain offset is a valid place. If all places of a column are plain, the column is located. Otherwise the upper bits
// say how to read a field.

struct Place {
  static constexpr std::uint64_t k_max_offset = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t k_max_words = (std::uint64_t{1} << 15) - 1;

  std::uint64_t offset = 0;  // in the file: of the field's first byte, or of its record's header
  std::uint64_t words = 0;   // length words of parts between its first and its last byte
  bool is_text = false;      // made from numbers in the header of the record at `offset`

  bool is_plain() const { return words == 0 && !is_text; }

  /// nullopt if it does not fit.
  std::optional<std::uint64_t> pack() const {
    if (offset > k_max_offset || words > k_max_words) return std::nullopt;
    return offset | words << 48 | static_cast<std::uint64_t>(is_text) << 63;
  }
  static Place unpack(std::uint64_t packed) {
    return {.offset = packed & k_max_offset, .words = packed >> 48 & k_max_words, .is_text = packed >> 63 != 0};
  }
};

/// Marks each column as located if all its places are plain, else as not located.
void declare_places(IndexBuilder& index);

}  // namespace bale::recordio
