// Adds files for other readers (Sidecar, ShardList) to existing shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/reader/dataset.hpp"

namespace bale {

/// Throws `invalid_argument` if the dataset's layout does not have one of the names.
void check_sidecars(const Dataset& dataset, const std::vector<std::string>& names);

/// Writes the files of these names and lists them in the manifest, if there is one, so that `verify` checks them and
/// `overwrite` removes them. Returns the number of files. Throws `invalid_argument` if the shards are not in one
/// directory. Throws `exists`, before anything is written, if there is a file with other content and `replace` is not
/// set.
std::uint64_t add_sidecars(const Dataset& dataset, const std::vector<std::string>& names, bool replace);

}  // namespace bale
