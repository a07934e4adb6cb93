// Checks that the files of an earlier run are still present and unchanged.
#pragma once

#include <string>
#include <vector>

#include "bale/writer/journal/dataset_switch.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

/// Whether `path` is a regular file, not a symbolic link to one.
bool is_file(const std::string& path);

/// Whether a shard and all its files exist and agree with what is recorded, `index` or `content` deep. `moves` lists
/// the files, the shard last. They are expected in `partial_directory` under their temporary names, or, if it is empty,
/// at the destination.
bool is_intact(const std::vector<Replacement::Move>& moves, const PackOptions& options, const FinishedShard& recorded,
               const std::string& partial_directory, CheckDepth depth);

/// Whether the index of a shard says of every image what decoding it says (PackOptions::check_images).
bool has_checked_images(const std::string& path, const PackOptions& options, const Progress& progress);

}  // namespace bale
