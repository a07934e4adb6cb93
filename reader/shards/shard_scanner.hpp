// ShardScanner: opens remote shards that have no index a few at a time, shortly before a reader that goes from shard to
// shard needs them. What a scan fetched is then still in the cache when its samples are read.
//
// Threads: one or more call; the shards are opened by threads of the object.
// Errors: never fails: it is a hint. The reader that opens the shard gets the error.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bale {

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
