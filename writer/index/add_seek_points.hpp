// Adds seek points (bale/formats/image/jpeg/seek_points.hpp) to existing shards, written by bale or another program.
#pragma once

#include <cstdint>

#include "bale/formats/base/progress.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {

struct AddedSeekPoints {
  std::uint64_t num_samples = 0;     // in the shards that were processed
  std::uint64_t num_shards = 0;      // that were processed; the others already had seek points
  std::uint64_t num_images = 0;      // that got seek points
  std::uint64_t num_unreadable = 0;  // damaged samples, which get none
};

/// Decodes the image of every sample once, with `jobs` threads (0: one per core), and publishes one file of seek points
/// per shard. Its bytes do not depend on `jobs`. Shards that already have valid seek points are skipped unless
/// `replace` is set. The manifest, if there is one, is updated to name the files. Throws `io`, and `interrupted` soon
/// after `progress.stop` is set; files that are published by then are complete.
AddedSeekPoints add_seek_points(const Dataset& dataset, unsigned jobs, bool replace, Progress& progress);

}  // namespace bale
