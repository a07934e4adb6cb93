// Reading the fields of a file whose index is known.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::recordio {

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::recordio
