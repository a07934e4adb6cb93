// ShardScanner: opens remote shards that have no index a few at a time, shortly before a reader that goes from shard to
// shard needs them. What a scan fetched is then still in the cache when its samples are read.
//
// Threads: one or more call; the shards are opened by threads of the object.
// Errors: never fails: it is a hint. The reader that opens the shard gets the error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bale {

// ShardCounter: how many samples the shards of a dataset have, counted in their order, at once or as they are needed.
//
// Threads: all methods may be called by many threads at once. One counts; the others wait for it, if they need more.
// Errors: what the counting function throws. The next call tries the same shard again.

class ShardCounter {
 public:
  /// Returns the number of samples of a shard. Called once per shard if it does not throw, by one thread at a time.
  using Count = std::function<std::uint64_t(std::size_t shard)>;

  ShardCounter(std::size_t num_shards, Count count) : count_(std::move(count)), ends_(num_shards + 1) {}

  std::size_t num_shards() const { return ends_.size() - 1; }
  std::size_t num_counted() const { return num_counted_.load(std::memory_order_acquire); }
  bool is_complete() const { return num_counted() == num_shards(); }
  /// Counts shards until `num` are counted, and returns the samples before shard `num`. Precondition: num <=
  /// num_shards().
  std::uint64_t samples_before(std::size_t num);
  std::uint64_t count_all() { return samples_before(num_shards()); }
  /// Counts shards until sample `i` is among them, or all are counted. Returns the number of samples counted so far.
  std::uint64_t count_beyond(std::uint64_t i);
  /// The same, but no further than shards for which `is_ready` says that counting them does not wait.
  std::uint64_t count_ready(std::uint64_t i, const std::function<bool(std::size_t shard)>& is_ready);
  /// The shard of sample `i`, which is counted, and its number there.
  std::pair<std::size_t, std::uint64_t> place(std::uint64_t i) const;

 private:
  void count_next(std::size_t num_counted);
  void count_now(std::size_t num_counted);

  const Count count_;
  std::vector<std::uint64_t> ends_;  // [n]: samples before shard n; written once, before num_counted_ is n
  std::atomic<std::size_t> num_counted_{0};
  std::timed_mutex mutex_;  // of the one who counts
};

struct ScanAheadOptions {
  std::size_t num_shards = 0;
  std::size_t shards_ahead = 0;   // at most, not counting the one that is being read
  std::uint64_t bytes_ahead = 0;  // files of about this size together, counting the one that is being read
  std::function<std::uint64_t(std::size_t shard)> size_of;  // bytes of its file
  std::function<void(std::size_t shard)> open;
};

class ShardScanner {
 public:
  explicit ShardScanner(ScanAheadOptions options) : options_(std::move(options)) {}
  /// Interrupts what is under way.
  ~ShardScanner();
  ShardScanner(const ShardScanner&) = delete;
  ShardScanner& operator=(const ShardScanner&) = delete;

  /// The reader is at this shard, or after it.
  void reached(std::size_t shard);

 private:
  void run();
  bool may_open_next() const;
  bool is_stopped();

  const ScanAheadOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t reached_ = 0;
  std::size_t next_ = 0;                // to open
  std::vector<std::uint64_t> sizes_{};  // of shards below next_; 0: not known yet
  std::uint64_t largest_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_{};
};

}  // namespace bale
