// The bytes of one member of a ZIP archive.
#pragma once

#include <cstdint>

#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/zip/directory.hpp"

namespace bale::zip {

/// Where the member's data begins. Throws `damaged` if its local header contradicts the directory.
std::uint64_t data_offset(FileWindow& window, const Member& member);

/// Fills `out` with the member's content, whose stored bytes begin at `data`, and compares its CRC-32. Precondition:
/// the member is readable. Throws `damaged`, without a path.
void read_member(const File& file, const Member& member, std::uint64_t data, MutableBytes out);

}  // namespace bale::zip
