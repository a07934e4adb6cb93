// Shards in a directory that has no manifest: another tool's packs.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// Files of the directory that carry a format's suffix, or, where none does, that a format recognises by
/// content; sorted by bytes, not recursive. Throws `not_found` where there are none and `damaged` for a
/// directory that an interrupted `bale pack` left, because its shards are not the whole dataset.
std::vector<std::string> list_shards(const std::string& directory);

/// Whether the file name ends with a suffix of one of the built-in formats.
bool has_shard_suffix(const std::string& name);

}  // namespace bale
