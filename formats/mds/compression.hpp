// Shards that MosaicML Streaming compressed as a whole.
//
// Source: mosaicml-streaming's compression.py (the names and the extensions). Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bale/formats/container/streams/stream.hpp"

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

}  // namespace bale::mds
