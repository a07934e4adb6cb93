// Fields that hold JPEG planes (planes/PLANES.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// The original. Valid until the calling thread calls it again. Throws `damaged` if it is not what was packed, and
/// `unsupported` for a later version of planes. Threads: any.
Bytes restore_planes(Bytes stored);

/// Compares the checksums of all bytes of `stored`. Returns that of the original. Throws `damaged` and `unsupported`.
std::uint32_t check_planes(Bytes stored);

/// Replaces `stored` by planes of a JPEG, from which it was restored and compared. Bytes that do not come back, or
/// whose planes would have more than 1.25 of their size, are stored as they are; returns why, in a few words, and
/// nothing if there are planes. An original that the calling thread restored last gets the planes that it had. Threads:
/// any.
std::string_view make_planes(Bytes jpeg, std::vector<std::byte>& stored);

}  // namespace bale
