// Seek points (bale/formats/image/jpeg/seek_points.hpp) beside shards that are there already, ours or another program's.
#pragma once

#include <cstdint>

#include "bale/formats/base/progress.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {

struct AddedSeekPoints {
  std::uint64_t num_samples = 0;     // of the shards that were worked on
  std::uint64_t num_shards = 0;      // likewise; the others had seek points already
  std::uint64_t num_images = 0;      // that have seek points now
  std::uint64_t num_unreadable = 0;  // samples that are damaged, and have none
};

/// Reads the image of every sample, by `jobs` threads (0: one a core), decodes it once and publishes a file of seek
/// points beside each shard, whose bytes do not depend on `jobs`. Shards that have one that is whole and theirs are
/// left out, unless they are to be replaced. The manifest, where there is one, is made to name the files. Throws `io`,
/// and `interrupted` soon after `progress.stop` is set: what is published by then is whole.
AddedSeekPoints add_seek_points(const Dataset& dataset, unsigned jobs, bool replace, Progress& progress);

}  // namespace bale
