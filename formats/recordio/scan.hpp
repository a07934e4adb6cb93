// Finding the samples of a file, ours or im2rec's (FORMAT.md, "Image record").
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::recordio {

/// Reads headers and tables but no images. Keys come from the `.lst` beside the file if it lists every record. Throws
/// `damaged`, with record and offset, or `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::recordio
