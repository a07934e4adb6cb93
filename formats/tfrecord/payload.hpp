// Reading the fields of a file whose index is known.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::tfrecord {

/// If the index has checksums, fields are read directly from the file. Otherwise the first read of a field in a record
/// also compares the checksum of the record.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

}  // namespace bale::tfrecord
