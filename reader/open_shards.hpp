// OpenShards: the shards of a dataset, opened on first use, of which no more are open at a time than the process can
// afford.
//
// Indexes stay: keys, labels and places are there without a descriptor. Of the files themselves those that were not
// used lately are closed. The limit is a quarter of the descriptors that the process may have (RLIMIT_NOFILE), shared
// by all objects of this class; whoever wants more raises the limit of the process.
//
// Threads: const methods may be called by many threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "bale/formats/core/shard.hpp"

namespace bale {

/// A shard that stays open at least as long as this is held, and not longer than its OpenShards exist.
class ShardInUse {
 public:
  /// One that is never closed needs no owner, and no count of its users.
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
  /// Opens shard `number`. At the first time `format` and `index` are null, later they are what the shard had then.
  /// Throws.
  using Open =
      std::function<Shard(std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index)>;

  OpenShards(std::size_t count, Open open);
  ~OpenShards();
  OpenShards(const OpenShards&) = delete;
  OpenShards& operator=(const OpenShards&) = delete;

  std::size_t size() const { return slots_.size(); }
  /// Throws what opening throws; the next call tries again.
  ShardInUse use(std::size_t number) const;
  /// The same with an owner in every case.
  std::shared_ptr<const Shard> share(std::size_t number) const;
  /// Lives as long as this object.
  const ShardIndex& index(std::size_t number) const;

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Shard> shard;            // null while it is closed
    const Format* format = nullptr;                // from the first opening on
    std::shared_ptr<const ShardIndex> index;       // likewise
    std::atomic<const ShardIndex*> known_index{};  // the same, readable without the lock
    std::atomic<const Shard*> kept_shard{};        // if none is ever closed
    std::atomic<bool> recently_used{};
  };

  std::shared_ptr<const Shard> open(Slot& slot, std::size_t number) const;
  void close_unused(std::size_t limit) const;
  bool close_if_unused(std::size_t number) const;

  static constexpr std::size_t k_kept_share =
      8;  // a dataset of few shards keeps them, and reads without counting users

  Open open_;
  mutable std::vector<Slot> slots_;
  bool closes_;
  mutable std::mutex mutex_;
  mutable std::vector<std::size_t> opened_;  // numbers of the shards that are open
  mutable std::size_t hand_ = 0;             // goes around opened_
};

/// How many shards the process may have open.
std::size_t max_open_shards();

/// Raises the soft limit of descriptors to the hard one. For programs: a library leaves that to its caller.
void raise_descriptor_limit();

}  // namespace bale
