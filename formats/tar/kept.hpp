// What the tar streams of this process keep between two reads, all shards together: frames in memory, spills on disk.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/shard/sample.hpp"
#include "bale/formats/tar/shared_cache.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

/// Frames with more content than this are not held in memory; their file is inflated to disk instead.
inline constexpr std::uint64_t k_max_frame_bytes = std::uint64_t{64} << 20;
/// For all `.tar.zst` shards of a process: about 64 frames as bale writes them, or one as large as any.
inline constexpr std::uint64_t k_kept_frame_bytes = k_max_frame_bytes;

/// The content of a frame.
struct Frame {
  RawBuffer memory;
  Bytes bytes;
};

SharedCache<Frame>& kept_frames();

/// Streams that are files in the temporary directory. Each is open, so each takes a descriptor as well.
SharedCache<Stream>& kept_spills();

/// What spills that nobody is reading may take in `directory`: the value of BALE_SPILL_BYTES if it is set, else half of
/// the room that is left there, those spills included. Throws `invalid_argument` if it is no number.
std::uint64_t kept_spill_limit(const std::string& directory);

}  // namespace bale::tar
