#include "bale/reader/shards/shard_scanner.hpp"

#include <algorithm>
#include <exception>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/base/system/threads.hpp"

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

ShardScanner::~ShardScanner() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ShardScanner::reached(std::size_t shard) {
  {
    const std::lock_guard lock(mutex_);
    if (shard < reached_ || (shard == reached_ && !threads_.empty())) return;
    reached_ = shard;
    const std::size_t num_threads = std::min(options_.shards_ahead + 1, options_.num_shards);
    while (threads_.size() < num_threads && add_thread(threads_, [this] { run(); })) {
    }
  }
  changed_.notify_all();
}

/// Requires mutex_. A shard whose size is not known is taken to be as large as the largest so far.
bool ShardScanner::may_open_next() const {
  if (next_ <= reached_) return true;
  if (next_ > reached_ + options_.shards_ahead || largest_ == 0) return false;
  std::uint64_t bytes = largest_;
  for (std::size_t shard = reached_; shard < next_; ++shard) bytes += sizes_[shard] != 0 ? sizes_[shard] : largest_;
  return bytes <= options_.bytes_ahead;
}

void ShardScanner::run() {
  const RemoteWaitPoll end_when_stopped([this] {
    if (is_stopped()) throw Error(ErrorCode::interrupted, "interrupted");
  });
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || next_ == options_.num_shards || may_open_next(); });
    if (stop_ || next_ == options_.num_shards) return;
    const std::size_t shard = next_++;
    sizes_.push_back(0);
    lock.unlock();
    try {
      const std::uint64_t size = options_.size_of(shard);
      lock.lock();
      sizes_[shard] = size;
      largest_ = std::max({largest_, size, std::uint64_t{1}});
      lock.unlock();
      changed_.notify_all();
      options_.open(shard);
    } catch (const std::exception&) {
      // See shard_scanner.hpp: Errors.
    }
    if (!lock.owns_lock()) lock.lock();
  }
}

bool ShardScanner::is_stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

}  // namespace bale
