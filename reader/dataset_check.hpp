// Checking a whole dataset: every shard by Shard::verify on several threads, and the shards as a set
// against the manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bale/formats/core/progress.hpp"
#include "bale/formats/core/shard.hpp"

namespace bale {

struct CheckReport {
  std::uint64_t num_samples = 0;
  std::uint64_t num_shards = 0;
  std::uint64_t num_bytes = 0;             // of shard files
  std::uint64_t num_unchecked_shards = 0;  // without checksums: only their structure could be checked
  std::vector<Damage> findings;            // shards in order
  NoticeLog notices;                       // what the shards hold beside their samples
};

/// `on_finding` is called as findings are made, from any thread, one at a time. `jobs` 0: one a core.
/// Damage is never thrown; `io`, `not_found` (of the spec) and `interrupted` are.
CheckReport check_dataset(const std::string& spec, unsigned jobs, Progress& progress,
                          const std::function<void(const Damage&)>& on_finding);

}  // namespace bale
