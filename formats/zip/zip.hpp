// What the format (format.cpp) is made of: listing and reading the images of a ZIP archive.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::zip {

/// Lists the images of a ZIP archive.
/// Throws `damaged`, and `unsupported` for an archive without images. An image that is encrypted, or compressed by a
/// method that bale does not read, is a sample that cannot be read.
void scan(const std::string& path, IndexBuilder& index);

/// Reads the fields of a ZIP archive.
/// Throws what File::open_read() throws.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::zip
