// Reading the images of a file whose index is known.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::npy {

/// Returns images as they are in the file, each after a header of its own.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::npy
