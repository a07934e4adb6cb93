// Adds indexes (formats/shard/index/INDEX.md) to existing shards, written by bale or another program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/base/progress.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {

struct IndexingOptions {
  ImageCheck check = ImageCheck::quick;  // of every image; with `decode` existing indexes are made again, too
  std::uint64_t max_pixels = k_default_max_pixels;
  bool replace = false;  // existing indexes
  unsigned jobs = 0;     // threads; 0: one per core
  /// Called by the calling thread for a directory from which temporary files of killed runs were removed, with their
  /// number, before anything is read.
  std::function<void(const std::string& directory, std::uint64_t count)> on_removed_temporaries{};
};

struct AddedIndexes {
  struct Failure {
    std::string path;  // of the shard
    Error error;
  };
  std::uint64_t num_added = 0;
  std::uint64_t num_present = 0;    // shards that already had an index
  NoticeLog notices{};              // what the scans ignored, and warnings
  std::vector<Failure> failures{};  // shards that could not be indexed
};

/// Scans every shard of `spec` that has no index, or an outdated or damaged one, and publishes an index, whose bytes do
/// not depend on `jobs`. If there are several shards, those that are damaged or changed are failures; the error of a
/// single shard is thrown. A shard of a manifest that was changed after it was packed is `changed`, and its index stays
/// as it is. Keys that only the index has are kept. Throws `interrupted` soon after `progress.stop` is set; indexes
/// that are published by then are complete.
AddedIndexes add_indexes(const std::string& spec, const IndexingOptions& options, Progress& progress);

// Adds seek points (bale/formats/image/jpeg/seek_points.hpp) to existing shards, written by bale or another program.

struct AddedSeekPoints {
  std::uint64_t num_samples = 0;     // in the shards that were processed
  std::uint64_t num_shards = 0;      // that were processed; the others already had seek points
  std::uint64_t num_images = 0;      // that got seek points
  std::uint64_t num_unreadable = 0;  // damaged samples, which get none
};

/// Throws `unsupported` for a dataset with layers (bale/formats/shard/layer.hpp), whose indexes are not those of its
/// shards.
void require_no_layers(const Dataset& dataset);

/// Decodes the image of every sample once, with `jobs` threads (0: one per core), and publishes one file of seek points
/// per shard. Its bytes do not depend on `jobs`. Shards that already have valid seek points are skipped unless
/// `replace` is set. The manifest, if there is one, is updated to name the files. Throws `changed`, before anything is
/// written, if that is not the current one, `retryable` if a run changes the dataset, `io`, and `interrupted` soon
/// after `progress.stop` is set; files that are published by then are complete.
AddedSeekPoints add_seek_points(const Dataset& dataset, unsigned jobs, bool replace, Progress& progress);

// Adds files for other readers (Sidecar, ShardList) to existing shards.

/// Throws `invalid_argument` if the dataset's layout does not have one of the names.
void check_sidecars(const Dataset& dataset, const std::vector<std::string>& names);

/// Writes the files of these names and lists them in the manifest, if there is one, so that `verify` checks them and
/// `overwrite` removes them. Returns the number of files. Throws `invalid_argument` if the shards are not in one
/// directory. Throws `exists`, before anything is written, if there is a file with other content and `replace` is not
/// set. Throws as add_seek_points() if the manifest is not the current one, or changing.
std::uint64_t add_sidecars(const Dataset& dataset, const std::vector<std::string>& names, bool replace);

}  // namespace bale
