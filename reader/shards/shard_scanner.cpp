#include "bale/reader/shards/shard_scanner.hpp"

#include <algorithm>
#include <exception>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"

namespace bale {

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
