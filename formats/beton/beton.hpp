// What the format (format.cpp) is made of: listing and reading the samples of .beton files.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::beton {

/// Lists the samples of a .beton file from their metadata and the allocation table.
/// Throws `damaged` and `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

/// Reads the fields of a .beton file.
/// Throws what File::open_read() throws.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::beton
