#include "bale/reader/shards/open_shards.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"

namespace bale {
namespace {

/// What an index takes besides its bytes, about.
constexpr std::uint64_t k_index_object_bytes = 1 << 10;

/// Number of shards that are open in this process, over all datasets.
std::atomic<std::size_t> open_in_process{0};

std::uint64_t memory_of(const ShardIndex& index) { return index.bytes().size() + k_index_object_bytes; }

/// One in memory that processes share stays there, so nothing would be gained by dropping it.
bool is_droppable(const ShardIndex& index) { return index.place().bytes == 0; }

bool is_out_of_descriptors(const Error& error) {
  const int why = error.context().system_error;
  return why == EMFILE || why == ENFILE;
}

/// Writes only if it changes: other threads read it.
void mark(std::atomic<bool>& used) {
  if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
}

}  // namespace

std::size_t max_open_shards() {
  constexpr rlim_t k_fewest = 8;
  constexpr rlim_t k_most = 4096;
  constexpr rlim_t k_share = 4;  // some formats use two descriptors per shard, and the rest is for the program
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return k_most;
  return std::clamp(limit.rlim_cur / k_share, k_fewest, k_most);
}

void raise_descriptor_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

OpenShards::OpenShards(std::size_t count, Open open, std::uint64_t index_budget)
    : open_(std::move(open)),
      slots_(count),
      closes_(count > max_open_shards() / k_kept_share),
      index_budget_(index_budget) {}

OpenShards::~OpenShards() { open_in_process -= opened_.size(); }

ShardInUse OpenShards::use(std::size_t number) const {
  const Shard* const kept = slots_[number].kept_shard.load(std::memory_order_acquire);
  return kept != nullptr ? ShardInUse(kept) : ShardInUse(share(number));
}

ShardInUse OpenShards::use(std::size_t number, const ShardIdentity& known) const {
  Slot& slot = slots_[number];
  if (slot.kept_shard.load(std::memory_order_acquire) == nullptr) {
    const auto locked = lock(slot);
    if (!slot.identity) slot.identity = known;
  }
  ShardInUse shard = use(number);
  if (shard->index().identity() != known.index) throw Error(changed_error(shard->path()));
  return shard;
}

ShardIdentity OpenShards::identity(std::size_t number) const {
  Slot& slot = slots_[number];
  const auto locked = lock(slot);
  if (!slot.identity) open(slot, number);
  return *slot.identity;
}

std::unique_lock<std::timed_mutex> OpenShards::lock(Slot& slot) const {
  return polling_lock(slot.mutex, k_remote_poll_interval, poll_remote_wait);  // who opens it may wait for a server
}

std::shared_ptr<const Shard> OpenShards::share(std::size_t number) const {
  Slot& slot = slots_[number];
  mark(slot.recently_used);
  mark(slot.index_recently_used);
  const auto locked = lock(slot);
  return slot.shard ? slot.shard : open(slot, number);
}

IndexInUse OpenShards::use_index(std::size_t number) const {
  Slot& slot = slots_[number];
  const Shard* const kept = slot.kept_shard.load(std::memory_order_acquire);
  if (kept != nullptr) return IndexInUse(&kept->index());
  mark(slot.index_recently_used);
  const auto locked = lock(slot);
  if (!slot.index) open(slot, number);
  if (!closes_) return IndexInUse(slot.index.get());
  return IndexInUse(slot.index);
}

bool OpenShards::has_index(std::size_t number) const {
  Slot& slot = slots_[number];
  if (slot.kept_shard.load(std::memory_order_acquire) != nullptr) return true;
  const std::unique_lock lock(slot.mutex, std::try_to_lock);
  return lock && slot.index != nullptr;
}

/// Call with the slot's lock held.
std::shared_ptr<const Shard> OpenShards::open(Slot& slot, std::size_t number) const {
  close_unused(max_open_shards() - 1);
  const auto open_now = [&] {
    try {
      auto shard = std::make_shared<const Shard>(open_(number, slot.format, slot.index));
      if (slot.identity) shard->require_identity(*slot.identity);
      return shard;
    } catch (const Error& error) {
      // It could be opened before, so its samples are not at fault.
      const bool was_good = slot.identity && slot.identity->file.is_known();
      if (was_good && is_data_error(error)) throw Error(changed_error(error.context().path));
      throw;
    }
  };
  try {
    slot.shard = open_now();
  } catch (const Error& error) {
    // The rest of the process uses the remaining descriptors: keep only half of the shards open.
    if (!is_out_of_descriptors(error)) throw;
    close_unused(open_in_process.load() / 2);
    slot.shard = open_now();
  }
  slot.identity = slot.shard->identity();
  slot.format = &slot.shard->format();
  if (!slot.index) keep_index(slot, number);
  if (!closes_) slot.kept_shard.store(slot.shard.get(), std::memory_order_release);
  const std::lock_guard lock(mutex_);
  opened_.push_back(number);
  ++open_in_process;
  return slot.shard;
}

/// Call with the slot's lock held, when its shard was opened without an index.
void OpenShards::keep_index(Slot& slot, std::size_t number) const {
  if (!closes_ || !is_droppable(slot.shard->index())) {
    slot.index = slot.shard->shared_index();
    return;
  }
  const std::uint64_t bytes = memory_of(slot.shard->index());
  drop_unused_indexes(index_budget_ - std::min(bytes, index_budget_));
  slot.index = slot.shard->shared_index();
  const std::lock_guard lock(mutex_);
  indexed_.push_back(number);
  index_bytes_ += bytes;
}

/// Closes unused shards of this object until at most `limit` are open in the process. A shard that was used since the
/// hand last passed it is spared once.
void OpenShards::close_unused(std::size_t limit) const {
  if (!closes_ || open_in_process.load() <= limit) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t looks = 2 * opened_.size(); looks > 0 && open_in_process.load() > limit && !opened_.empty();
       --looks) {
    hand_ = hand_ < opened_.size() ? hand_ : 0;
    if (!close_if_unused(opened_[hand_])) {
      ++hand_;
      continue;
    }
    opened_[hand_] = opened_.back();
    opened_.pop_back();
    --open_in_process;
  }
}

/// Call with mutex_ held. Never waits for a slot, so that two threads that open shards cannot deadlock.
bool OpenShards::close_if_unused(std::size_t number) const {
  Slot& slot = slots_[number];
  if (slot.recently_used.exchange(false, std::memory_order_relaxed)) return false;
  const std::unique_lock lock(slot.mutex, std::try_to_lock);
  if (!lock || slot.shard.use_count() != 1) return false;
  slot.shard.reset();
  return true;
}

/// Drops unused indexes until those in memory take at most `limit` bytes. One that was used since the hand last passed
/// it is spared once.
void OpenShards::drop_unused_indexes(std::uint64_t limit) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t looks = 2 * indexed_.size(); looks > 0 && index_bytes_ > limit && !indexed_.empty(); --looks) {
    index_hand_ = index_hand_ < indexed_.size() ? index_hand_ : 0;
    if (!drop_if_unused(indexed_[index_hand_])) {
      ++index_hand_;
      continue;
    }
    indexed_[index_hand_] = indexed_.back();
    indexed_.pop_back();
  }
}

/// Call with mutex_ held. Never waits for a slot. Closes the shard, which refers to its index.
bool OpenShards::drop_if_unused(std::size_t number) const {
  Slot& slot = slots_[number];
  if (slot.index_recently_used.exchange(false, std::memory_order_relaxed)) return false;
  const std::unique_lock lock(slot.mutex, std::try_to_lock);
  if (!lock || (slot.shard && slot.shard.use_count() != 1)) return false;
  if (slot.index.use_count() != (slot.shard ? 2 : 1)) return false;
  if (slot.shard) {
    slot.shard.reset();
    std::erase(opened_, number);
    --open_in_process;
  }
  index_bytes_ -= memory_of(*slot.index);
  slot.index.reset();
  return true;
}

std::optional<std::uint64_t> memory_for_files() {
  const auto set = env_bytes("BALE_MEMORY_BYTES");
  return set ? set : available_memory();
}

bool prefers_direct_io(std::span<const SizedFile> files, std::optional<std::uint64_t> memory) {
  if (!memory) return false;
  std::uint64_t total = 0;
  for (const SizedFile& file : files) total += file.bytes;
  if (total <= *memory) return false;
  constexpr double k_enough = 0.5;
  return cached_part(files).value_or(0) < k_enough;
}

}  // namespace bale
