// index.json of a LitData dataset: the chunks, and how their bytes are to be read. A chunk cannot be read without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/litdata/columns.hpp"

namespace bale::litdata {

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
