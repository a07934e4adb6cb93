// Lists the images of a ZIP archive.
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::zip {

/// Throws `damaged`, and `unsupported` for images that are encrypted or compressed by other methods.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::zip
