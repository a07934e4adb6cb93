// Source and destination must not overlap: what is written must not take the place of what is read.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// Throws `invalid_argument` if the destination is one of the places that a source reads from, or lies in one of them,
/// or holds one of them. Links are resolved and directories compared by device and inode, so that no spelling of a
/// path hides what it leads to. A place is a directory or a file; the destination need not exist. Touches nothing.
void require_apart(const std::vector<std::string>& places, const std::string& destination);

}  // namespace bale
