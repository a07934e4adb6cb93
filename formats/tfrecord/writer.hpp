// Writing shards: create() of the format.
#pragma once

#include <memory>

#include "bale/formats/shard/format.hpp"

namespace bale::tfrecord {

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

}  // namespace bale::tfrecord
