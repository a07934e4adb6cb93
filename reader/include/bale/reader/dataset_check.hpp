// Checking a whole dataset: every shard by Shard::verify() on several threads, and the set of shards against the
// manifest. This is `bale verify`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale {

struct CheckReport {
  std::string spec;
  std::uint64_t num_samples = 0;
  std::uint64_t num_shards = 0;
  std::uint64_t num_bytes = 0;               // of shard files
  std::uint64_t num_images_not_decoded = 0;  // findings of images of kinds or sizes that are not decoded
  std::uint64_t num_without_image = 0;       // samples of which there was none to decode
  std::uint64_t num_unchecked_shards = 0;    // without checksums: only their structure was checked
  std::vector<Damage> findings;              // in the order of the shards
  NoticeLog notices;                         // what the shards hold besides samples
  std::vector<std::string> leftovers;        // temporary files of killed runs; harmless
  std::vector<CheckReport> parts;            // one per dataset if there are several; the fields above are their sum
};

struct CheckOptions {
  unsigned jobs = 0;                                // threads; 0: one per core
  bool decode = false;                              // also decode every image
  std::uint64_t max_pixels = k_default_max_pixels;  // larger images are findings
};

/// Checks the dataset `spec`, as Dataset::open() takes it, or all datasets in a directory, as `bale pack --split` makes
/// them. Each dataset is checked against its own manifest.
/// Calls `on_finding` for each finding, from any thread, one call at a time. Adds to the counters of `progress`.
/// Damaged, missing and unreadable files are findings, not errors: the rest is still checked. Throws `interrupted` soon
/// after progress.stop is set, errors for which is_lack_of_resources() holds, and errors about the spec itself
/// (`not_found`, `invalid_argument`, `io`).
CheckReport check_dataset(const std::string& spec, const CheckOptions& options, Progress& progress,
                          const std::function<void(const Damage&)>& on_finding);

}  // namespace bale
