// Reads what our own scanner and codecs cannot read, through libarchive (FORMAT.md, section 9).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bale/formats/tar/reading/scanner.hpp"
#include "bale/formats/tar/reading/stream.hpp"

namespace bale::tar {

/// Unpacks the files of a tar archive into one temporary file, in archive order. The archive may have sparse members
/// and any compression that libarchive supports. Files that belong to no sample (reason_to_skip()) are skipped. So are
/// sparse files that are nearly all holes, which are `other` members. Calls `visit` for every member except
/// directories; the offset of a file is its offset in the temporary file. `end` is set to where libarchive stopped in
/// the decompressed archive. Throws `damaged`, or `unsupported` if this libarchive lacks the compression.
std::unique_ptr<Stream> unpack_by_libarchive(const std::string& path,
                                             const std::function<void(const Member&)>& visit = {},
                                             std::uint64_t* end = nullptr);

/// Decompresses a whole file into one temporary file. Throws as unpack_by_libarchive() does.
std::unique_ptr<Stream> open_filtered_stream(const std::string& path);

}  // namespace bale::tar
