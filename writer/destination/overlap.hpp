// Checks that source and destination do not overlap, so that a run does not overwrite what it reads.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// Throws `invalid_argument` if the destination is one of the places that a source reads from, is inside one of them,
/// or contains one of them. Links are resolved and directories compared by device and inode, so the spelling of a path
/// does not matter. A place is a directory or a file. The destination need not exist. Writes nothing.
void require_no_overlap_of(const std::vector<std::string>& places, const std::string& destination);
/// Throws `invalid_argument` if the cache of remote files lies in one of the places, unless that is a packed dataset,
/// of which only its own files are read, or contains one.
void require_sources_apart_from_cache(const std::vector<std::string>& places);
/// Both, and the cache does not lie in the destination.
void require_no_overlap(const std::vector<std::string>& places, const std::string& destination);

}  // namespace bale
