#include "bale/reader/shards/shard_counter.hpp"

#include <algorithm>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/polling_lock.hpp"

namespace bale {

std::uint64_t ShardCounter::samples_before(std::size_t num) {
  for (std::size_t counted = num_counted(); counted < num; counted = num_counted()) count_next(counted);
  return ends_[num];
}

std::uint64_t ShardCounter::count_beyond(std::uint64_t i) {
  std::size_t counted = num_counted();
  for (; ends_[counted] <= i && counted < num_shards(); counted = num_counted()) count_next(counted);
  return ends_[counted];
}

std::uint64_t ShardCounter::count_ready(std::uint64_t i, const std::function<bool(std::size_t)>& is_ready) {
  std::size_t counted = num_counted();
  for (; ends_[counted] <= i && counted < num_shards() && is_ready(counted); counted = num_counted()) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) break;  // somebody else counts, and may wait
    if (num_counted() == counted) count_now(counted);
  }
  return ends_[num_counted()];
}

std::pair<std::size_t, std::uint64_t> ShardCounter::place(std::uint64_t i) const {
  const auto begin = ends_.begin();
  const auto after = std::upper_bound(begin, begin + static_cast<std::ptrdiff_t>(num_counted()), i);
  const auto shard = static_cast<std::size_t>(after - begin) - 1;
  return {shard, i - ends_[shard]};
}

/// Counts the shard after the first `num_counted`, unless another thread has.
void ShardCounter::count_next(std::size_t num_counted) {
  const auto lock = polling_lock(mutex_, k_remote_poll_interval, poll_remote_wait);  // who counts may wait for a server
  if (num_counted_.load(std::memory_order_relaxed) != num_counted) return;
  count_now(num_counted);
}

/// Requires mutex_.
void ShardCounter::count_now(std::size_t num_counted) {
  ends_[num_counted + 1] = ends_[num_counted] + count_(num_counted);
  num_counted_.store(num_counted + 1, std::memory_order_release);
}

}  // namespace bale
