// What the format (format.cpp) is made of: listing and reading the samples of LitData's chunks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::litdata {

/// index.json as the list of a LitData dataset's chunks.
/// Format::list.
std::optional<std::vector<std::string>> list_directory(const std::string& directory);

/// Lists the samples of a LitData chunk from its table and the sizes in front of each sample.
/// Throws `damaged` and `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

/// Reads the fields of a LitData chunk.
/// Throws what File::open_read() throws, and what reading the index.json next to it throws.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::litdata
