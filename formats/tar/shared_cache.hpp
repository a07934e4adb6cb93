// SharedCache: what all streams of a process have inflated and may need again, within a limit in bytes; what was used
// least recently goes first.
//
// Any thread. Values are shared: one that is given up stays with whoever is reading it, and goes after that. A forked
// child has a cache of its own, with the same values at first.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace bale::tar {

template <typename Value>
class SharedCache {
 public:
  /// A part of what one stream (its owner) has.
  struct Key {
    std::uint64_t owner = 0;
    std::uint64_t part = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Kept = std::shared_ptr<const Value>;

  /// An owner that nobody else has.
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

  /// Keeps a value of `bytes`, and makes room for it: the rest is within `limit` then. The value itself is kept even if
  /// it is larger.
  void insert(const Key& key, Kept value, std::uint64_t bytes, std::uint64_t limit) {
    Gone gone;  // let go of after the lock
    const std::lock_guard lock(mutex_);
    forget(places_.find(key), gone);
    shrink_to(bytes < limit ? limit - bytes : 0, gone);
    entries_.push_front({key, std::move(value), bytes});
    places_[key] = entries_.begin();
    bytes_ += bytes;
  }

  /// Gives up values until `bytes` are left at most.
  void shrink_to(std::uint64_t bytes) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    shrink_to(bytes, gone);
  }

  /// Gives up all that a stream has.
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

  // Around a fork, so that the child does not find it locked by a thread that it does not have.
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
  std::list<Entry> entries_;  // the one used last first
  Places places_;
  std::uint64_t bytes_ = 0;
};

}  // namespace bale::tar
