// Where a value of a .beton file lies, and how one without a file format of its own (a number, an array, raw pixels)
// becomes a NumPy array file.
//
// Source: ffcv's fields/*.py (`metadata_type`).
//
// Pure functions; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/beton/columns.hpp"
#include "bale/formats/container/reading/array_conversion.hpp"

namespace bale::beton {

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
