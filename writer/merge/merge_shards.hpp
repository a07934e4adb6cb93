// Joins finished datasets: the work of merge_datasets() and merge_writer_parts().
//
// Functions are safe in any thread, for different destinations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

struct FinishedDataset {
  std::string directory;
  Manifest manifest;
  std::string spec;  // of this version of the dataset in the directory
};

/// Where and how the joined dataset is written.
struct ShardMergeOptions {
  std::string destination;
  std::string name{};          // empty: default_name
  std::string default_name{};  // empty: last component of the destination
  bool link = false;           // see DatasetMergeOptions
  bool allow_removed = false;  // likewise
  unsigned jobs = 0;
  DestinationMode mode = DestinationMode::fresh;
  std::function<void(const std::string& line)> on_warning{};  // as of PackOptions
  bool beside_parts = false;  // the datasets are the parts of Writers in the destination
};

/// Loads the manifest of each directory, or of the version that DIRECTORY@ID names. Throws `not_found` if there is
/// none, `unsupported` for remote directories and what load_manifest() throws.
std::vector<FinishedDataset> load_finished(const std::vector<std::string>& specs);

/// Joins datasets of at least one sample. Throws what merge_datasets() throws.
PackReport merge_shards(const std::vector<FinishedDataset>& datasets, const ShardMergeOptions& options,
                        Progress& progress);

}  // namespace bale
