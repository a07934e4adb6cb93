// The front of an MDS shard: number of samples, their offsets, and the configuration that names the columns.
//
// Source: mosaicml-streaming's mds/writer.py and mds/reader.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/mds/columns.hpp"

namespace bale::mds {

struct Header {
  std::vector<std::uint32_t> offsets;  // of the samples in the file, and the end of the last one
  std::vector<Column> columns;
  std::uint64_t num_samples() const { return offsets.size() - 1; }
};

/// `content` is that of the shard, decompressed if it is compressed. `path` is for messages. Throws `damaged` if it
/// contradicts itself, `unsupported` for another version; memory is bounded by its size.
Header read_header(const Stream& content, const std::string& path);

/// The columns alone.
std::vector<Column> read_columns(const Stream& content, const std::string& path);

}  // namespace bale::mds
