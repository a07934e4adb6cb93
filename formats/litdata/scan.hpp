// Lists the samples of a LitData chunk from its table and the sizes in front of each sample.
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::litdata {

/// Throws `damaged` and `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::litdata
