// Checks that source and destination do not overlap, so that a run does not overwrite what it reads.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// Throws `invalid_argument` if the destination is one of the places that a source reads from, is inside one of them,
/// or contains one of them. Links are resolved and directories compared by device and inode, so the spelling of a path
/// does not matter. A place is a directory or a file. The destination need not exist. Writes nothing.
void require_no_overlap_of(const std::vector<std::string>& places, const std::string& destination);
/// The same, and that the cache of remote files lies neither in the source nor in the destination.
void require_no_overlap(const std::vector<std::string>& places, const std::string& destination);

}  // namespace bale
