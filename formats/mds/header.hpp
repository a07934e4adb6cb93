// The front of an MDS shard: number of samples, their offsets, and the configuration that names the columns.
//
// Source: mosaicml-streaming's mds/writer.py and mds/reader.py.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/mds/columns.hpp"

namespace bale::mds {

struct Header {
  std::vector<std::uint32_t> offsets;  // of the samples in the file, and the end of the last one
  std::vector<Column> columns;
  std::uint64_t num_samples() const { return offsets.size() - 1; }
};

/// Throws `damaged` if the file contradicts itself, `unsupported` for another version; memory is bounded by its size.
Header read_header(const File& file);

/// The columns alone.
std::vector<Column> read_columns(const File& file);

}  // namespace bale::mds
