// Making the entry points of a shard that is there already, ours or another program's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bale/formats/core/shard.hpp"

namespace bale {

struct MadeEntryFile {
  std::vector<std::byte> bytes;      // what belongs into entry_path(shard)
  std::uint64_t num_images = 0;      // that have entry points now
  std::uint64_t num_unreadable = 0;  // samples that are damaged, and have none
};

/// Reads the image of every sample, by `jobs` threads (0: one a core), and decodes it once. The bytes do not depend on
/// `jobs`. `on_sample` is called after each, by any thread, and may throw to stop. Throws `io`.
MadeEntryFile make_entry_file(const Shard& shard, unsigned jobs, const std::function<void()>& on_sample);

}  // namespace bale
