// CachedStream: the stream of one shard, opened when it is first needed and again after it was evicted.
//
// Thread-safe. A stream in a temporary file is one of spill_cache(): it is evicted once when everything has been read,
// and whenever others need the room.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/streams/shared_cache.hpp"
#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

// The caches of all streams of this process: frames in memory, spills on disk.

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

using StreamOpener = std::function<std::unique_ptr<Stream>()>;

class CachedStream {
 public:
  /// `payload_bytes`: the sum of the fields that will be read, see payload_bytes_of().
  CachedStream(StreamOpener opener, std::uint64_t payload_bytes)
      : opener_(std::move(opener)), payload_bytes_(payload_bytes) {}
  ~CachedStream();
  CachedStream(const CachedStream&) = delete;
  CachedStream& operator=(const CachedStream&) = delete;

  /// Opens the stream if it is not open. Throws what the opener throws; damage is thrown again without another try.
  std::shared_ptr<const Stream> get() const;

  /// To be called after `bytes` bytes of a field were read from the stream `from`. Evicts the stream when everything
  /// has been read once: most callers do not read it again. A caller that does reads in epochs, so from then on the
  /// stream is kept.
  void note_read(const Stream& from, std::uint64_t bytes) const;

 private:
  const StreamOpener opener_;
  const std::uint64_t payload_bytes_;
  const std::uint64_t owner_ = SharedCache<Stream>::new_owner();
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Stream> in_memory_;
  mutable std::optional<Error> damage_;  // kept: finding it again would cost a pass over the file per sample
  mutable std::atomic<std::uint64_t> read_bytes_{0};
  mutable std::atomic<bool> was_done_{false};
};

/// The bytes of all fields of a shard.
std::uint64_t payload_bytes_of(const ShardIndex& index);

/// StreamPayload: the payload of a shard whose bytes are read through a Stream.
/// The stream is opened at the first read, because a caller that needs only keys and labels does not need it, and kept
/// as CachedStream says. `has_places`: whether the stream knows the positions of its bytes in the file.
std::unique_ptr<Payload> make_stream_payload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places);

}  // namespace bale
