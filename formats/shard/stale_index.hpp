// Whether a shard is still the file that its index was made of.
//
// Field checksums find image bytes that changed. Labels, keys and sizes come from the index, so an index of what the
// file was before would deliver old ones without a word. A whole-file digest would settle it, but reading all of a
// dataset before its first sample is too slow. So two signs are looked at: the digest of the file's ends, and whether
// the file is newer than its index. Only if one of them is wrong is more of the file read.
#pragma once

#include <string>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

/// Throws `changed` if the file's keys, labels or places are not those of `index`, the one beside it; files of other
/// sizes are not its business. A file that is newer than its index, as after a copy that does not keep times, has its
/// digest compared; if that matches, the index gets a new time so that it is not compared again. Returns what a reader
/// should know. What was found of a file is remembered until the process ends.
NoticeLog check_index_is_current(const std::string& path, const Format& format, const ShardIndex& index);

}  // namespace bale
