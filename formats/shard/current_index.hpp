// The index of a shard: whether the one next to it is still of this file, and what replaces one that is not there.
//
// Field checksums detect changed image bytes. Labels, keys and sizes come from the index, so an index of the earlier
// file would silently deliver old ones. A whole-file digest would detect that, but reading a whole dataset before its
// first sample is too slow. So two signs are checked: the digest of the file's ends, and whether the file is newer than
// its index. More of the file is read only if one of them indicates a change.
//
// Threads: the functions may be called by any thread.
#pragma once

#include <string>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

/// Throws `changed` if the file's keys, labels or places differ from those of `index`, the one next to it. Files of
/// another size are not checked. If a file is newer than its index, as after a copy that does not keep times, its
/// digest is compared. If that matches, the index gets a new time so that it is not compared again. Returns warnings
/// for the reader. The result for a file is remembered until the process ends.
NoticeLog check_index_is_current(const std::string& path, const Format& format, const ShardIndex& index);

// A remote shard without an index next to it is scanned once per node and version of the file. Then its index is found
// in the cache.

/// Scans `path`, or takes the index from the cache if another process, or an earlier run, scanned this version of the
/// file. A scan with notices is not kept. Throws what scan_shard() throws.
ShardIndex scan_or_remember(const std::string& path, const Format& format);

/// Whether opening the remote file `path` would scan all of it: it has no index, and no kept scan.
bool needs_scan(const std::string& path);

}  // namespace bale
