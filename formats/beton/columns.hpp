// The fields of a .beton file: how each stores its values, and what bale makes of it.
//
// Source: ffcv's types.py (the descriptors and their numbers), fields/*.py (metadata and arguments), utils.py (names).
//
// Pure functions of the descriptors; safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/container/reading/column_roles.hpp"

namespace bale::beton {

/// What a value is.
enum class ValueKind : std::uint8_t {
  number,  // one integer or float of 64 bits, in the metadata
  image,   // a JPEG, or pixels as height x width x 3 bytes
  bytes,   // anything
  json,    // UTF-8 and a NUL
  array,   // numbers of the type and shape that the descriptor fixes
  opaque,  // an array of a type that array files do not have, such as structures
};

struct Column : ForeignColumn {
  ValueKind kind = ValueKind::opaque;
  std::uint32_t place = 0;  // of its metadata in the record of a sample
};

struct Columns {
  std::vector<Column> all;
  std::uint32_t record_bytes = 0;  // of the metadata of one sample
};

/// Bytes of one descriptor in the file.
inline constexpr std::size_t k_descriptor_bytes = 1041;

/// Whether the descriptor has a number and a name that ffcv writes.
bool is_plausible_descriptor(Bytes descriptor);

/// The fields with their roles. Throws `damaged` or `unsupported` without a path. Precondition: whole descriptors.
Columns parse_columns(Bytes descriptors);

/// The longest metadata of a value, and that of a kind.
inline constexpr std::size_t k_max_metadata_bytes = 16;
std::uint32_t metadata_bytes(ValueKind kind);

/// Bytes of one element of an array; 0 if array files do not have the type.
std::uint64_t element_bytes(std::string_view type);

}  // namespace bale::beton
