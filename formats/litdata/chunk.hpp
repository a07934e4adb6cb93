// The layouts of a LitData chunk: where its samples are, and its content, decompressed if it is compressed.
//
// Source: litdata's streaming/writer.py and framed_zstd.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bale/formats/container/streams/stream.hpp"

namespace bale::litdata {

enum class Packing : std::uint8_t {
  plain,
  whole,    // the file is one zstd stream
  frames,   // a table, and zstd frames of many samples each
  samples,  // a plain table, and a zstd frame for each sample
};

/// `compresses_samples`: what index.json says; the others are recognized by their first bytes.
Packing packing_of(const std::string& path, bool compresses_samples);

struct Chunk {
  std::unique_ptr<Stream> content;
  std::vector<std::uint64_t> offsets;  // of the samples in `content`, and the end of the last one
  std::uint64_t num_samples() const { return offsets.size() - 1; }
};

/// Throws `damaged` if the chunk contradicts itself; memory is bounded by the size of its content.
Chunk open_chunk(const std::string& path, Packing packing);

}  // namespace bale::litdata
