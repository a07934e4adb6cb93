// Checking a whole dataset: every shard by Shard::verify on several threads, and the shards as a set
// against the manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bale/formats/core/progress.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/formats/image/image.hpp"

namespace bale {

struct CheckReport {
  std::string spec;
  std::uint64_t num_samples = 0;
  std::uint64_t num_shards = 0;
  std::uint64_t num_bytes = 0;               // of shard files
  std::uint64_t num_images_not_decoded = 0;  // of kinds or sizes that are not decoded here
  std::uint64_t num_unchecked_shards = 0;    // without checksums: only their structure could be checked
  std::vector<Damage> findings;              // shards in order
  NoticeLog notices;                         // what the shards hold beside their samples
  std::vector<std::string> leftovers;        // temporary files of killed runs: harmless
  std::vector<CheckReport> parts;            // if the spec holds several datasets: of each, and the sum is above
};

struct CheckOptions {
  unsigned jobs = 0;    // 0: one per core
  bool decode = false;  // every image too
  std::uint64_t max_pixels = k_default_max_pixels;
};

/// A spec that names several datasets (a directory of them, as `pack --split` makes it, or a "::" list) is all of them,
/// each checked against its own manifest.
/// `on_finding` is called as findings are made, from any thread, one at a time.
/// What is damaged, missing or unreadable is a finding, never thrown, and the rest is checked all the same. Thrown are
/// `interrupted`, a lack of resources, and what is wrong with the spec itself (`not_found`, `io`).
CheckReport check_dataset(const std::string& spec, const CheckOptions& options, Progress& progress,
                          const std::function<void(const Damage&)>& on_finding);

}  // namespace bale
