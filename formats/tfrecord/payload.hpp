// Reading the fields of a file whose index is known.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::tfrecord {

/// Fields whose index has checksums are read as they lie in the file. Without, a record's own checksums are compared
/// when the first of its fields is read.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::tfrecord
