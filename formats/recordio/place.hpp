// Places: what the offset of a field's extent says where fields do not all lie in the file as they are.
//
// A plain offset is a place as it is. A column in which every place is plain is a located one; in any other the upper
// bits tell how a field is read.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::recordio {

struct Place {
  static constexpr std::uint64_t k_max_offset = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t k_max_words = (std::uint64_t{1} << 15) - 1;

  std::uint64_t offset = 0;  // in the file: of the field's first byte, or of its record's header
  std::uint64_t words = 0;   // length words of parts between its first and its last byte
  bool is_text = false;      // made from numbers in the header of the record at `offset`

  bool is_plain() const { return words == 0 && !is_text; }

  /// nullopt where it does not fit.
  std::optional<std::uint64_t> pack() const {
    if (offset > k_max_offset || words > k_max_words) return std::nullopt;
    return offset | words << 48 | static_cast<std::uint64_t>(is_text) << 63;
  }
  static Place unpack(std::uint64_t packed) {
    return {.offset = packed & k_max_offset, .words = packed >> 48 & k_max_words, .is_text = packed >> 63 != 0};
  }
};

/// Declares the columns that hold a place which is not plain as not located.
void declare_places(IndexBuilder& index);

}  // namespace bale::recordio
