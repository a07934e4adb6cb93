// The content of an MDS shard, which may be compressed as a whole, and its front: the number of samples, their offsets,
// and the configuration that names the columns.
//
// Source: mosaicml-streaming's compression.py (the names and the extensions), mds/writer.py and mds/reader.py.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/mds/columns.hpp"

namespace bale::mds {

/// Of the compressions that Streaming offers, the one that bale reads: "zstd", "zstd:7". Streaming's names are those in
/// index.json.
bool is_readable_compression(std::string_view name);

/// Whether the file begins like zstd. A shard that is not compressed cannot: it would have 4 billion samples.
bool is_compressed(const std::string& path);

/// Throws `unsupported`, with a hint, if the name says that the file is compressed in another way: "x.mds.br".
void refuse_other_compression(const std::string& path);

/// The compression of a file by its name: "br" of "x.mds.br"; empty if there is none.
std::string_view compression_in_name(std::string_view path);

/// The content of a shard. Throws what open_zstd_stream() and File::open_read() throw.
std::unique_ptr<Stream> open_content(const std::string& path, bool compressed);

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
