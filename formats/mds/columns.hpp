// The columns of an MDS shard: how each stores its values, and what bale makes of it.
//
// Source: mosaicml-streaming's encodings.py (the names of the encodings and their bytes).
//
// Pure functions of the shard's configuration; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/container/reading/converted_payload.hpp"

namespace bale {
class Json;
}

namespace bale::mds {

/// What the bytes of a value are.
enum class ValueKind : std::uint8_t {
  bytes,   // anything
  text,    // UTF-8; also numbers written as text
  json,    // UTF-8
  image,   // a JPEG or PNG file
  pixels,  // Pillow's raw image: width, height, mode, bytes
  number,  // one number, little-endian
  array,   // numbers, with those of their type and shape in front that the column does not fix
  opaque,  // pickles, lists of images, encodings that are not known
};

struct Column : ForeignColumn {
  ValueKind kind = ValueKind::opaque;
  std::uint32_t size = 0;  // in bytes, of every value; 0: each sample says it
};

/// The columns in the order of a sample's bytes, with their roles. Throws `damaged` or `unsupported` without a path.
std::vector<Column> parse_columns(const Json& config);

}  // namespace bale::mds

namespace bale::mds {

// Values that MDS stores without a file format of their own: numbers, arrays and raw images. bale delivers them as
// NumPy array files, gray images as PGM: a header made from the column and the front of the value, and then the value's
// own numbers.
//
// Pure functions; safe in any thread.

/// The longest front of a value that conversion_of() looks at.
inline constexpr std::size_t k_value_head_bytes = 2 + 63 * 8;

/// For a value of kind `number`, `array` or `pixels` that starts with `front`, its first k_value_head_bytes or all of
/// it. nullopt if the front is malformed, or of a kind of image that has no whole bytes per pixel.
std::optional<ArrayConversion> conversion_of(const Column& column, Bytes front);

}  // namespace bale::mds
