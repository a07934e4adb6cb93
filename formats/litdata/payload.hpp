// Reads the fields of a LitData chunk.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::litdata {

/// Throws what File::open_read() throws, and what reading the index.json next to it throws.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::litdata
