// OpenShards: the shards of a dataset. Each is opened on first use, and the least recently used are closed when too
// many are open.
//
// An index stays in memory when its shard is closed, so keys, labels and extents need no file descriptor. All objects
// of this class in a process share one limit, max_open_shards(). Shards that are in use are never closed.
//
// Threads: const methods may be called by many threads at once.
// Preconditions, which are not checked: shard numbers are below size().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "bale/formats/shard/shard.hpp"

namespace bale {

/// Keeps a shard open. Do not hold it longer than its OpenShards.
class ShardInUse {
 public:
  // A shard that is never closed needs no owner, so its users are not counted.
  ShardInUse() = default;
  explicit ShardInUse(const Shard* shard) : shard_(shard) {}
  explicit ShardInUse(std::shared_ptr<const Shard> owner) : shard_(owner.get()), owner_(std::move(owner)) {}
  const Shard& operator*() const { return *shard_; }
  const Shard* operator->() const { return shard_; }

 private:
  const Shard* shard_ = nullptr;
  std::shared_ptr<const Shard> owner_;
};

class OpenShards {
 public:
  /// Opens shard `number`. The first time, `format` and `index` are null; when the shard is opened again, they are
  /// those of the first time. May throw. May be called by many threads at once, for different shards.
  using Open =
      std::function<Shard(std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index)>;

  OpenShards(std::size_t count, Open open);
  ~OpenShards();
  OpenShards(const OpenShards&) = delete;
  OpenShards& operator=(const OpenShards&) = delete;

  std::size_t size() const { return slots_.size(); }
  /// Opens the shard unless it is open. Throws what Open throws; the next call tries again.
  ShardInUse use(std::size_t number) const;
  /// The same as a shared pointer.
  std::shared_ptr<const Shard> share(std::size_t number) const;
  /// The shard's index, which lives as long as this object. Opens the shard on first use.
  const ShardIndex& index(std::size_t number) const;

 private:
  struct Slot {
    std::timed_mutex mutex;  // while the shard is opened, which may wait for a server
    std::shared_ptr<const Shard> shard;            // null while it is closed
    const Format* format = nullptr;                // since the shard was first opened
    std::shared_ptr<const ShardIndex> index;       // likewise
    std::atomic<const ShardIndex*> known_index{};  // the same, readable without the lock
    std::atomic<const Shard*> kept_shard{};        // if shards are never closed
    std::atomic<bool> recently_used{};
  };

  std::shared_ptr<const Shard> open(Slot& slot, std::size_t number) const;
  void close_unused(std::size_t limit) const;
  bool close_if_unused(std::size_t number) const;

  static constexpr std::size_t k_kept_share =
      8;  // a dataset with up to an eighth of the limit never closes shards, and does not count users

  Open open_;
  mutable std::vector<Slot> slots_;
  bool closes_;
  mutable std::mutex mutex_;
  mutable std::vector<std::size_t> opened_;  // numbers of the shards that are open
  mutable std::size_t hand_ = 0;             // position in opened_ of the CLOCK algorithm
};

/// How many shards the process may have open: a quarter of the soft limit of file descriptors (RLIMIT_NOFILE), at least
/// 8 and at most 4096.
std::size_t max_open_shards();

/// Raises the soft limit of file descriptors of the process to the hard limit. For programs; bale's libraries do not
/// call it.
void raise_descriptor_limit();

}  // namespace bale
