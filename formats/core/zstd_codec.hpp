// zstd for single fields: one frame a field, content size always in the frame header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/core/bytes.hpp"

namespace bale {

/// Compresses `input` into `out` (replaced). One context a thread is kept for reuse. Deterministic for a
/// given zstd version. Level 1..19 (negative levels are zstd's fast modes).
void zstd_compress(Bytes input, int level, std::vector<std::byte>& out);

/// Decompressed size that a frame states; throws `damaged` where it states none or more than `limit`.
std::uint64_t zstd_content_size(Bytes frame, std::uint64_t limit);

/// Decompresses exactly one frame into `out`, whose size must be the content size. Throws `damaged`.
void zstd_decompress(Bytes frame, MutableBytes out);

}  // namespace bale
