// NumPy array files: the header before an array's bytes.
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
#include "bale/formats/base/error.hpp"

namespace bale {

/// Every array file begins with it.
inline constexpr std::string_view k_array_magic{"\x93NUMPY", 6};

struct ArrayHeader {
  std::string type;  // as NumPy writes it: "|u1", "<i8"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_offset = 0;
};

/// Header of a C-ordered array, version 1.0, 128 bytes or more.
std::string array_header_text(std::string_view type, std::span<const std::uint64_t> shape);

/// Header of an image of height x width x 3 bytes.
std::string image_header_text(std::uint64_t height, std::uint64_t width);

/// Parses the header at the start of `head`. nullopt if it is missing, cut short, or of an array without a single type.
/// Accepts only a literal as NumPy writes it; evaluates nothing. Allocates less than `head` is long and 64 sides.
std::optional<ArrayHeader> parse_array_header(Bytes head);

/// For bytes that parse_array_header() does not take. Throws `unsupported` if they are of a later version or an array
/// of records, else `damaged`.
[[noreturn]] void fail_array_header(Bytes head, ErrorContext context = {});

/// The number of elements; nullopt if it does not fit in 63 bits.
std::optional<std::uint64_t> num_elements(const ArrayHeader& header);

}  // namespace bale
