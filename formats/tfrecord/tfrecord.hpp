// What the format (format.cpp) is made of: finding, reading and writing the samples of a file.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::tfrecord {

/// Finds the samples of a file, ours or another tool's (FORMAT.md, "Example", "Foreign files").
/// Reads headers and names but no images. Throws `damaged`, with record and offset, or `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

/// Reads the fields of a file whose index is known.
/// If the index has checksums, fields are read directly from the file. Otherwise the first read of a field in a record
/// also compares the checksum of the record.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

}  // namespace bale::tfrecord
