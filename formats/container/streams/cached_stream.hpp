// CachedStream: the stream of one shard, opened when it is first needed and again after it was evicted.
//
// Thread-safe. A stream in a temporary file is one of spill_cache(): it is evicted once when everything has been read,
// and whenever others need the room.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

// SharedCache: an LRU cache of what all streams of a process have decompressed, with a limit in bytes.
//
// Thread-safe. An evicted value is destroyed when its last reader releases it. A forked child has a cache of its own,
// with the same values at first.

template <typename Value>
class SharedCache {
 public:
  /// One part of a stream. The stream is the owner.
  struct Key {
    std::uint64_t owner = 0;
    std::uint64_t part = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Kept = std::shared_ptr<const Value>;

  /// A new, unique owner.
  static std::uint64_t new_owner() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  Kept find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(key);
    if (at == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->value;
  }

  /// Adds a value of `bytes` bytes and evicts others to stay within `limit`. A value above `limit` is kept alone.
  void insert(const Key& key, Kept value, std::uint64_t bytes, std::uint64_t limit) {
    Gone gone;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    forget(places_.find(key), gone);
    shrink_to(bytes < limit ? limit - bytes : 0, gone);
    entries_.push_front({key, std::move(value), bytes});
    places_[key] = entries_.begin();
    bytes_ += bytes;
  }

  /// Evicts values until at most `bytes` bytes are left.
  void shrink_to(std::uint64_t bytes) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    shrink_to(bytes, gone);
  }

  /// Evicts all values of a stream.
  void erase(std::uint64_t owner) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    for (auto at = places_.lower_bound({owner, 0}); at != places_.end() && at->first.owner == owner;) {
      at = forget(at, gone);
    }
  }

  std::uint64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  // Locked across a fork. Otherwise the mutex might be locked in the child by a thread that only the parent has.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Entry {
    Key key;
    Kept value;
    std::uint64_t bytes = 0;
  };
  using Places = std::map<Key, typename std::list<Entry>::iterator>;
  using Gone = std::list<Entry>;

  typename Places::iterator forget(typename Places::iterator at, Gone& gone) {
    if (at == places_.end()) return at;
    bytes_ -= at->second->bytes;
    gone.splice(gone.end(), entries_, at->second);
    return places_.erase(at);
  }

  void shrink_to(std::uint64_t bytes, Gone& gone) {
    while (bytes_ > bytes) forget(places_.find(entries_.back().key), gone);
  }

  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  Places places_;
  std::uint64_t bytes_ = 0;
};

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
