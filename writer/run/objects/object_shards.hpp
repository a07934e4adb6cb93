// What packing into an object store and packing a part of it have in common.
//
// Functions are safe in any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bale/writer/packer.hpp"
#include "bale/writer/run/objects/object_destination.hpp"

namespace bale {

/// Whether the files of a shard of a finished dataset are there: all names, the size, and the digest in the index.
/// Reads no shard.
bool is_published(const ObjectDestination& destination, const std::vector<Replacement::Move>& moves,
                  const ManifestShard& shard);

/// Writes a shard under a temporary name. An error of the local disk names the staging directory.
FinishedShard write_staged(const PackOptions& options, const std::string& staging,
                           const std::function<FinishedShard()>& write);

}  // namespace bale
