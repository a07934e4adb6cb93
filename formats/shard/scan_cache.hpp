// The index of a remote shard that has none next to it: scanned once per node and version of the file, then found in
// the cache.
//
// Threads: may be called by any thread.
#pragma once

#include <string>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

/// Scans `path`, or takes the index from the cache if another process, or an earlier run, scanned this version of the
/// file. A scan with notices is not kept. Throws what scan_shard() throws.
ShardIndex scan_or_remember(const std::string& path, const Format& format);

/// Whether opening the remote file `path` would scan all of it: it has no index, and no kept scan.
bool needs_scan(const std::string& path);

}  // namespace bale
