// SharedCache: an LRU cache of what all streams of a process have decompressed, with a limit in bytes.
//
// Thread-safe. An evicted value is destroyed when its last reader releases it. A forked child has a cache of its own,
// with the same values at first.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace bale {

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

}  // namespace bale
