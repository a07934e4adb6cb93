// Housekeeping of the `memory` format: its shards stay until they are dropped or the process ends.
// Threads: safe to call from many at once. A shard that is open outlives its being dropped.
#pragma once

#include <string>

namespace bale {

/// Forgets the shard packed to `path`; does nothing where there is none.
void drop_memory_shard(const std::string& path);

}  // namespace bale
