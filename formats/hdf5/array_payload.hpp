// Payload of containers with decoded images: a NumPy header and a row of pixels, made as they are asked for.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/core/format.hpp"

namespace bale::h5 {

/// For files that hold an `npy` column without located extents. Takes the library's lock itself.
std::unique_ptr<Payload> open_array_payload(const std::string& path, const ShardIndex& index);

}  // namespace bale::h5
