#include "bale/reader/open_shards.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

constexpr std::chrono::milliseconds k_poll_interval{100};

/// Number of shards that are open in this process, over all datasets.
std::atomic<std::size_t> open_in_process{0};

bool is_out_of_descriptors(const Error& error) {
  const int why = error.context().system_error;
  return why == EMFILE || why == ENFILE;
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

OpenShards::OpenShards(std::size_t count, Open open)
    : open_(std::move(open)), slots_(count), closes_(count > max_open_shards() / k_kept_share) {}

OpenShards::~OpenShards() { open_in_process -= opened_.size(); }

ShardInUse OpenShards::use(std::size_t number) const {
  const Shard* const kept = slots_[number].kept_shard.load(std::memory_order_acquire);
  return kept != nullptr ? ShardInUse(kept) : ShardInUse(share(number));
}

std::shared_ptr<const Shard> OpenShards::share(std::size_t number) const {
  Slot& slot = slots_[number];
  if (!slot.recently_used.load(std::memory_order_relaxed)) slot.recently_used.store(true, std::memory_order_relaxed);
  std::unique_lock lock(slot.mutex, std::defer_lock);
  while (!lock.try_lock_for(k_poll_interval)) poll_remote_wait();  // the thread that opens it may wait for a server
  return slot.shard ? slot.shard : open(slot, number);
}

const ShardIndex& OpenShards::index(std::size_t number) const {
  const ShardIndex* const known = slots_[number].known_index.load(std::memory_order_acquire);
  return known != nullptr ? *known : share(number)->index();
}

/// Call with the slot's lock held.
std::shared_ptr<const Shard> OpenShards::open(Slot& slot, std::size_t number) const {
  close_unused(max_open_shards() - 1);
  const auto open_now = [&] { return std::make_shared<const Shard>(open_(number, slot.format, slot.index)); };
  try {
    slot.shard = open_now();
  } catch (const Error& error) {
    // The rest of the process uses the remaining descriptors: keep only half of the shards open.
    if (!is_out_of_descriptors(error)) throw;
    close_unused(open_in_process.load() / 2);
    slot.shard = open_now();
  }
  if (!slot.index) {
    slot.format = &slot.shard->format();
    slot.index = slot.shard->shared_index();
    slot.known_index.store(slot.index.get(), std::memory_order_release);
  }
  if (!closes_) slot.kept_shard.store(slot.shard.get(), std::memory_order_release);
  const std::lock_guard lock(mutex_);
  opened_.push_back(number);
  ++open_in_process;
  return slot.shard;
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

}  // namespace bale
