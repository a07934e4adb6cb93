// Shards in a directory that has no manifest: another tool's packs.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// Files of the directory that are called as a format calls its shards, or, where none is, that a format recognizes
/// by content; sorted by bytes, not recursive. Throws `not_found` where there are none and `damaged` for a
/// directory that an interrupted `bale pack` left, because its shards are not the whole dataset.
std::vector<std::string> list_shards(const std::string& directory);

/// Whether the file is called as one of the built-in formats calls its shards.
bool is_called_as_shard(const std::string& name);

}  // namespace bale
