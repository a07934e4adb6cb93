// zstd for single fields: one frame per field, with the content size in the frame header.
//
// Threads: may be called from any thread. Each thread keeps one context for compression and one for decompression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"

namespace bale {

/// Replaces `out` by `input` compressed at `level`, 1..19; negative levels are zstd's fast modes. The result is the
/// same in every run with one version of zstd. Throws `invalid_argument`.
void zstd_compress(Bytes input, int level, std::vector<std::byte>& out);

/// The decompressed size in a frame's header. Throws `unsupported` if there is none, `damaged` if the bytes are no
/// frame, or if it is more than `limit` or than a frame of this length can hold. So it is safe to reserve memory of
/// this size. Do not initialize that memory: the header may still claim more than the frame contains.
std::uint64_t zstd_content_size(Bytes frame, std::uint64_t limit);

/// Throws for an error of the library: std::bad_alloc, `unsupported` for frames that need a dictionary or a larger
/// window, else `damaged`.
[[noreturn]] void fail_zstd(std::size_t error, ErrorContext context = {});

/// Decompresses exactly one frame into `out`, whose size must be zstd_content_size(). Throws `damaged`.
void zstd_decompress(Bytes frame, MutableBytes out);

}  // namespace bale
