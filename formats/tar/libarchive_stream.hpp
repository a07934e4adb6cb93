// Odd archives: what our own scanner leaves alone, read through libarchive (FORMAT.md, section 9).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bale/formats/tar/scanner.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

/// Unpacks a tar archive (sparse members, any compression of libarchive's) into one temporary file: the files one after
/// another in archive order. Files whose names belong to no sample (reason_to_skip()) are left out, and so are sparse
/// ones that are nearly all holes: those are `other` members. `visit` sees every member but directories, a file's
/// offset being that in the temporary file. Throws `damaged`; `unsupported` for a compression that this libarchive
/// lacks.
std::unique_ptr<Stream> unpack_by_libarchive(const std::string& path,
                                             const std::function<void(const Member&)>& visit = {});

}  // namespace bale::tar
