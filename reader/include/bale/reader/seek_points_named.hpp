// Whether a shard has a file of seek points, as far as that is known without asking a server.
//
// Threads: may be called by any thread that may use the Dataset.
#pragma once

#include <cstddef>

#include "bale/reader/dataset.hpp"

namespace bale {

/// False if the shard is remote and the dataset's manifest names no seek points of it; true if that is not known. The
/// manifests of a dataset of several parts are not compared. Precondition: shard < dataset.num_shards().
bool may_have_seek_points(const Dataset& dataset, std::size_t shard);

}  // namespace bale
