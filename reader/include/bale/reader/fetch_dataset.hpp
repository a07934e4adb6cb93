// Fetches whole remote datasets into the cache, so that later runs read them from there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"

namespace bale {

struct FetchList {
  std::vector<std::string> files;  // shards, and what lies next to them
  std::uint64_t bytes = 0;         // of all files
};

/// The remote files of datasets, as Dataset::open() takes them. Asks for each file; a shard without an index is
/// scanned. Throws what Dataset::open() throws, and `invalid_argument` if a dataset has no remote file.
FetchList plan_fetch(const std::vector<std::string>& specs);

/// Reads every file through the cache; what is there is not fetched again. Progress: bytes, shards (files) and their
/// totals. Throws `retryable`, `changed`, `io`, also if the cache did not keep all of them, and `interrupted` if its
/// stop flag is set.
void fetch(const FetchList& plan, Progress& progress);

}  // namespace bale
