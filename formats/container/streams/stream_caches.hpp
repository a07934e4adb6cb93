// The caches of all streams of this process: frames in memory, spills on disk.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/container/streams/shared_cache.hpp"
#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {

/// Frames with more content than this are not kept in memory; their file is decompressed to disk instead.
inline constexpr std::uint64_t k_max_frame_bytes = std::uint64_t{64} << 20;
/// Limit for all seekable zstd shards of a process: about 64 frames as bale writes them, or one of the largest size.
inline constexpr std::uint64_t k_frame_cache_bytes = k_max_frame_bytes;

/// The decompressed content of a frame.
struct Frame {
  RawBuffer memory;
  Bytes bytes;
};

SharedCache<Frame>& frame_cache();

/// Streams in files of the temporary directory. Each also takes a file descriptor.
SharedCache<Stream>& spill_cache();

/// Limit of the bytes that spill_cache() may take in `directory`: BALE_SPILL_BYTES if it is set, else half of the sum
/// of the free space there and those spills. Throws `invalid_argument` if BALE_SPILL_BYTES is not a number.
std::uint64_t spill_cache_limit(const std::string& directory);

}  // namespace bale
