// The shards of the `memory` format, which stay until they are dropped or the process ends.
//
// Threads: may be called from any thread.
#pragma once

#include <string>

namespace bale {

/// Removes the shard that was packed to `path`. Does nothing if there is none. A shard that is open stays readable.
void drop_memory_shard(const std::string& path);

}  // namespace bale
