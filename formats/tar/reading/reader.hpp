// scan() and open() of tar shards.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::tar {

void scan(const std::string& path, IndexBuilder& index);
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::tar
