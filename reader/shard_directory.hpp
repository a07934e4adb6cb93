// Shards in a directory without a manifest, as other tools write them.
#pragma once

#include <string>
#include <vector>

namespace bale {

/// Files of the directory that are named like a format's shards; if there are none, files that a format recognizes by
/// content. Sorted by bytes, not recursive. Throws `not_found` if there are none, and `damaged` for a directory that an
/// interrupted `bale pack` left, because its shards are not the whole dataset.
std::vector<std::string> list_shards(const std::string& directory);

/// Whether the file is named like a shard of a built-in format.
bool is_called_as_shard(const std::string& name);

}  // namespace bale
