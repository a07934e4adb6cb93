// Files for other readers (Sidecar, ShardList) beside shards that are there already.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/reader/dataset.hpp"

namespace bale {

/// Throws `invalid_argument` where the dataset's layout has nothing of one of the names.
void check_sidecars(const Dataset& dataset, const std::vector<std::string>& names);

/// Makes the files of these names, and says in the manifest, where there is one, that they are
/// there: so verifying looks after them, and overwriting removes them. Returns how many there are. Throws
/// `invalid_argument` where shards do not lie in one directory, and, before anything is written, `exists` where a file
/// is there that says something else, unless it is to be replaced.
std::uint64_t add_sidecars(const Dataset& dataset, const std::vector<std::string>& names, bool replace);

}  // namespace bale
