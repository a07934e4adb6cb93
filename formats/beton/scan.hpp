// Lists the samples of a .beton file from their metadata and the allocation table.
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::beton {

/// Throws `damaged` and `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::beton
