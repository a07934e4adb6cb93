// Payload of containers with decoded images and other arrays: each read returns a NumPy header and a row.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::h5 {

/// For files with fields that are not located: decoded images (`npy`) and rows of other datasets. Takes the library's
/// lock itself, when it first reads such a field.
std::unique_ptr<Payload> open_array_payload(const std::string& path, const ShardIndex& index);

}  // namespace bale::h5
