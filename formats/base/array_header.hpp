// NumPy's array files: the header that makes an array's bytes a file of their own.
//
// Source: numpy.lib.format: magic "\x93NUMPY", version (1.0: header length u16; 2.0 and 3.0: u32), a Python dict
// literal padded with spaces and a newline so that the data starts at a multiple of 64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// What every array file opens with.
inline constexpr std::string_view k_array_magic{"\x93NUMPY", 6};

struct ArrayHeader {
  std::string type;  // as NumPy spells it: "|u1", "<i8"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_offset = 0;
};

/// Header of a C-ordered array, version 1.0, 128 bytes or more.
std::string array_header_text(std::string_view type, std::span<const std::uint64_t> shape);

/// Reads the header that `head` opens with; nullopt where it is none, cut short, or describes what has no single type.
/// Never evaluated: only a literal as NumPy writes it is read. Allocates less than `head` is long and 64 sides.
std::optional<ArrayHeader> parse_array_header(Bytes head);

/// The number of elements; nullopt where it does not fit in 63 bits.
std::optional<std::uint64_t> num_elements(const ArrayHeader& header);

}  // namespace bale
