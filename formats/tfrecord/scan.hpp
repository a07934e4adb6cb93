// Finding the samples of a file, ours or another tool's (FORMAT.md, "Example", "Foreign files").
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::tfrecord {

/// Reads headers and names but no images. Throws `damaged`, with record and offset, or `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::tfrecord
