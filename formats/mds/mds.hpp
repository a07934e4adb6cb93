// What the format (format.cpp) is made of: listing and reading the samples of MDS shards.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::mds {

/// index.json: the list of the shards of an MDS dataset.
/// Format::list.
std::optional<std::vector<std::string>> list_directory(const std::string& directory);

/// Format::classes: the member "classes", which bale.to_mds() writes and Streaming ignores.
std::vector<std::string> listed_classes(const std::string& directory);

/// Lists the samples of an MDS shard from its header and the sizes in front of each sample.
/// Throws `damaged` and `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

/// Reads the fields of an MDS shard.
/// Throws what File::open_read() throws.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::mds
