// Finding the samples of a file, ours or im2rec's (FORMAT.md, "Image record").
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::recordio {

/// Reads headers and tables, no image; keys come from the `.lst` beside the file where it knows every record. Throws
/// `damaged`, naming record and offset, or `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::recordio
