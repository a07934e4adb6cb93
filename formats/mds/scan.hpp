// Lists the samples of an MDS shard from its header and the sizes in front of each sample.
#pragma once

#include <string>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::mds {

/// Throws `damaged` and `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

}  // namespace bale::mds
