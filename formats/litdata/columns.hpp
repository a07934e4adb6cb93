// The leaves of LitData's samples: how each stores its values, and what bale makes of it.
//
// Source: litdata's streaming/serializers.py (the names in data_format and their bytes), constants.py (the numbers of
// types) and utilities/_pytree.py (data_spec).
//
// Pure functions of the configuration; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/container/reading/converted_payload.hpp"

namespace bale {
class Json;
}

namespace bale::litdata {

/// What the bytes of a value are.
enum class ValueKind : std::uint8_t {
  bytes,   // anything; also the bytes of files
  text,    // UTF-8
  image,   // an image file
  pixels,  // Pillow's raw image
  number,  // one number, little-endian
  vector,  // numbers alone: one dimension
  numpy,   // u32 type and rank, u32 sides, little-endian, then numbers
  tensor,  // the same, big-endian; the numbers are little-endian
  opaque,  // pickles, lists of images, graphs, LitData's own JSON
};

/// It is called by its stem: the path in the sample, '_' between its parts, or the number.
struct Column : ForeignColumn {
  ValueKind kind = ValueKind::opaque;
  std::string ending{};  // the field's, as the format says it: "mp4" of "file:mp4"
};

/// The columns in the order of a sample's bytes, with their roles. `spec` is null or the tree that names them. Throws
/// `damaged` without a path.
std::vector<Column> make_columns(const std::vector<std::string>& formats, const Json& spec);

/// The longest front of a value that conversion_of() looks at.
inline constexpr std::size_t k_value_front_bytes = 512;

/// For a value of `length` bytes that begins with `front`, its first k_value_front_bytes or all of it. nullopt if it is
/// malformed, or of a type that an array file does not have.
std::optional<ArrayConversion> conversion_of(const Column& column, Bytes front, std::uint64_t length);

// index.json of a dataset: the chunks, and how their bytes are to be read. A chunk cannot be read without it.

struct ListedChunk {
  std::string name;
  std::uint64_t bytes = 0;  // of the file; of its content if the file is compressed as a whole
  std::uint64_t samples = 0;
};

struct Config {
  std::vector<Column> columns;
  std::vector<ListedChunk> chunks;
  bool compresses_samples = false;  // each sample is a zstd frame
};

/// The index.json of a directory; nullopt if there is none or it is another program's. Throws `damaged` and
/// `unsupported`, naming it: encrypted chunks, other compressions than zstd, other layouts.
std::optional<Config> read_config(const std::string& directory);

/// The configuration of a chunk and what it lists of it. Throws also `unsupported` if there is none next to the chunk.
struct ChunkConfig {
  std::vector<Column> columns;
  ListedChunk listed;
  bool compresses_samples = false;
};
ChunkConfig read_chunk_config(const std::string& path);

}  // namespace bale::litdata
