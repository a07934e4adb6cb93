// zstd for single fields: one frame per field, content size always in the frame header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/core/bytes.hpp"

namespace bale {

/// Compresses `input` into `out` (replaced). One context a thread is kept for reuse. Deterministic for a
/// given zstd version. Level 1..19 (negative levels are zstd's fast modes).
void zstd_compress(Bytes input, int level, std::vector<std::byte>& out);

/// Decompressed size that a frame states. Throws `damaged` if it states none, more than `limit`, or more than a frame
/// of so few bytes can hold. So memory may be reserved for it; take memory that is not initialized, since what is
/// stated may still be more than what is there.
std::uint64_t zstd_content_size(Bytes frame, std::uint64_t limit);

/// Decompresses exactly one frame into `out`, whose size must be the content size. Throws `damaged`.
void zstd_decompress(Bytes frame, MutableBytes out);

}  // namespace bale
