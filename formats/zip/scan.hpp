// Lists the images of a ZIP archive.
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::zip {

/// Throws `damaged`, and `unsupported` for an archive without images. An image that is encrypted, or compressed by a
/// method that bale does not read, is a sample that cannot be read.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::zip
