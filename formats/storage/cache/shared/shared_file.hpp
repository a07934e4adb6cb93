// Files that several processes map and change at the same time.
//
// They must not be truncated while they are in use: access to a mapped page after the end raises SIGBUS. Removing them
// is safe. What happened to them before they are opened does no harm.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {

/// Opens `path` for reading and writing; makes it if there is none, with `head` and zero bytes after it, `size` bytes
/// that have their place on the disk. What is not a regular file is removed first; links are not followed. Safe if many
/// processes do it at once. Throws `io`.
File open_shared_file(const std::string& path, std::uint64_t size, Bytes head = {});

/// Opens such a file, which may have been truncated in the meantime, and maps its `size` bytes. Throws `io`.
FileMapping map_shared_file(const std::string& path, std::uint64_t size);

}  // namespace bale
