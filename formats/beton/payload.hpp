// Reads the fields of a .beton file.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::beton {

/// Throws what File::open_read() throws.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::beton
