// The fields of a .beton file: how each stores its values, and what bale makes of it.
//
// Source: ffcv's types.py (the descriptors and their numbers), fields/*.py (metadata and arguments), utils.py (names).
//
// Pure functions of the descriptors; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/container/reading/converted_payload.hpp"

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

// Where a value of a .beton file lies, and how one without a file format of its own (a number, an array, raw pixels)
// becomes a NumPy array file.
//
// Source: ffcv's fields/*.py (`metadata_type`).
//
// Pure functions; safe in any thread.

/// What the metadata of a value says. Nothing in it is checked.
struct Value {
  std::uint64_t offset = 0;              // in the file
  std::optional<std::uint64_t> bytes{};  // nullopt: only the allocation table has it, or an array of 4 GiB or more
  std::uint8_t mode = 0;                 // of an image: k_jpeg or k_raw
  std::uint16_t width = 0;               // of an image
  std::uint16_t height = 0;
};

// Source: IMAGE_MODES of fields/rgb_image.py.
inline constexpr std::uint8_t k_jpeg = 0;
inline constexpr std::uint8_t k_raw = 1;

/// `metadata`: metadata_bytes(column.kind) bytes, which lie at `position` of the file: a number is its own metadata.
Value value_of(const Column& column, Bytes metadata, std::uint64_t position);

/// The array file that a number, an array or raw pixels are delivered as; ArrayConversion::skip is 0. nullopt for other
/// values and for arrays of 4 GiB or more.
std::optional<ArrayConversion> conversion_of(const Column& column, const Value& value);

}  // namespace bale::beton
