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

}  // namespace bale
