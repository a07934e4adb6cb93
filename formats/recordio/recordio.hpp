// What the format (format.cpp) is made of: finding, reading and writing the samples of a file.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::recordio {

/// Finds the samples of a file, ours or im2rec's (FORMAT.md, "Image record").
/// Reads headers and tables but no images. Keys come from the `.lst` next to the file if it lists every record. Throws
/// `damaged`, with record and offset, or `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

/// Reads the fields of a file whose index is known.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

}  // namespace bale::recordio
