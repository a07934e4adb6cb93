// OpenShards: the shards of a dataset. Each is opened on first use, and the least recently used are closed when too
// many are open.
//
// An index stays in memory when its shard is closed, so keys, labels and extents need no file descriptor. When indexes
// take more than a budget, those that were not used lately are dropped and their shards closed; the next use opens the
// shard again. All objects of this class in a process share one limit, max_open_shards(). What is in use is never
// closed or dropped.
//
// Threads: const methods may be called by many threads at once.
// Preconditions, which are not checked: shard numbers are below size().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "bale/formats/base/files/read_limit.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/reader/in_use.hpp"

namespace bale {

class OpenShards {
 public:
  /// Opens shard `number`. The first time, `format` and `index` are null. When the shard is opened again, they are
  /// those of the first time; `index` is null if it was dropped. May throw. May be called by many threads at once, for
  /// different shards.
  using Open =
      std::function<Shard(std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index)>;

  OpenShards(std::size_t count, Open open, std::uint64_t index_budget = k_index_budget);
  ~OpenShards();
  OpenShards(const OpenShards&) = delete;
  OpenShards& operator=(const OpenShards&) = delete;

  std::size_t size() const { return slots_.size(); }
  /// Whether shards and indexes that are not in use are closed and dropped when there are many.
  bool closes() const { return closes_; }
  /// Opens the shard unless it is open. Throws what Open throws; the next call tries again. Throws `changed` if a shard
  /// that is opened again is not the one that it was.
  ShardInUse use(std::size_t number) const;
  /// The same for one who holds `known` of the shard. Throws `changed` if it is another one.
  ShardInUse use(std::size_t number, const ShardIdentity& known) const;
  /// What a user of use() or use_index() holds of the shard. Opens it unless it was open before.
  ShardIdentity identity(std::size_t number) const;
  /// The same as a shared pointer.
  std::shared_ptr<const Shard> share(std::size_t number) const;
  /// The shard's index. Opens the shard unless its index is in memory.
  IndexInUse use_index(std::size_t number) const;
  /// Whether use_index() would return at once. Does not wait.
  bool has_index(std::size_t number) const;

 private:
  struct Slot {
    std::timed_mutex mutex;                   // while the shard is opened, which may wait for a server
    std::shared_ptr<const Shard> shard;       // null while it is closed
    const Format* format = nullptr;           // since the shard was first opened
    std::optional<ShardIdentity> identity;    // since then, or since a user held it
    std::shared_ptr<const ShardIndex> index;  // null also after it was dropped
    std::atomic<const Shard*> kept_shard{};   // if shards are never closed
    std::atomic<bool> recently_used{};
    std::atomic<bool> index_recently_used{};
  };

  std::unique_lock<std::timed_mutex> lock(Slot& slot) const;
  std::shared_ptr<const Shard> open(Slot& slot, std::size_t number) const;
  void keep_index(Slot& slot, std::size_t number) const;
  void close_unused(std::size_t limit) const;
  bool close_if_unused(std::size_t number) const;
  void drop_unused_indexes(std::uint64_t limit) const;
  bool drop_if_unused(std::size_t number) const;

  static constexpr std::size_t k_kept_share =
      8;  // a dataset with up to an eighth of the limit never closes shards, and does not count users

  Open open_;
  mutable std::vector<Slot> slots_;
  bool closes_;
  std::uint64_t index_budget_;
  mutable std::mutex mutex_;
  mutable std::vector<std::size_t> opened_;   // numbers of the shards that are open
  mutable std::size_t hand_ = 0;              // position in opened_ of the CLOCK algorithm
  mutable std::vector<std::size_t> indexed_;  // numbers of the shards whose indexes are in memory
  mutable std::size_t index_hand_ = 0;        // position in indexed_, likewise
  mutable std::uint64_t index_bytes_ = 0;
};

/// How many shards the process may have open: a quarter of the soft limit of file descriptors (RLIMIT_NOFILE), at least
/// 8 and at most 4096.
std::size_t max_open_shards();

/// Raises the soft limit of file descriptors of the process to the hard limit. For programs; bale's libraries do not
/// call it.
void raise_descriptor_limit();

// Whether to read a dataset around the page cache: DatasetOptions::direct_io.

/// The memory that can hold files: $BALE_MEMORY_BYTES if it is set, else available_memory(). Throws `invalid_argument`
/// if the variable is not a number.
std::optional<std::uint64_t> memory_for_files();

/// Whether the files do not fit into `memory` (nullopt: not known), and less than half of their bytes are cached. Local
/// files only.
bool prefers_direct_io(std::span<const SizedFile> files, std::optional<std::uint64_t> memory);

}  // namespace bale
