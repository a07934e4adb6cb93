// Files that several processes map and change at the same time.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/base/file.hpp"

namespace bale {

/// Opens `path` for reading and writing; makes it, with `size` zero bytes that have their place on the disk, if there is
/// none. Safe if many processes do it at once. Throws `io`.
File open_shared_file(const std::string& path, std::uint64_t size);

}  // namespace bale
