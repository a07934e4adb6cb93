// Reading the images of a file whose index is known. For one thread at a time, as every Payload.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::npy {

/// Images as they lie in the file, each behind a header of its own.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::npy
