// ShardQueue: writes full pending shards on its own threads and publishes them in order.
//
// Threads: push(), drain() and stop() are called by one thread at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bale/writer/journal/journal.hpp"
#include "bale/writer/stream/sample_log.hpp"

namespace bale {

class ShardQueue {
 public:
  struct Task {
    std::shared_ptr<SampleLog> pending;
    std::vector<std::string> fields;  // of LoggedSource
  };
  using Write = std::function<FinishedShard(const Task&)>;            // called by several threads at once
  using Publish = std::function<void(const Task&, FinishedShard&&)>;  // in order, one call at a time
  using OnWait = std::function<void()>;

  /// `jobs` threads at most, which start when they are needed. The first task has the number `next_shard`.
  ShardQueue(unsigned jobs, std::uint64_t next_shard, Write write, Publish publish)
      : jobs_(jobs), next_(next_shard), write_(std::move(write)), publish_(std::move(publish)) {}
  /// Calls stop().
  ~ShardQueue();
  ShardQueue(const ShardQueue&) = delete;
  ShardQueue& operator=(const ShardQueue&) = delete;

  /// Waits until a thread is free, and gives the task to it. While it waits, calls `on_wait` (may be null) every 50 ms;
  /// what that throws ends the wait and leaves the queue as it was. Rethrows what a task threw: from then on no task is
  /// begun or published.
  void push(Task task, const OnWait& on_wait);
  /// Waits until all tasks are published. Throws as push() does.
  void drain(const OnWait& on_wait);
  /// Begins no more tasks, and returns when no thread is running. Tasks that were not published, in order.
  std::vector<Task> stop();

 private:
  void run();
  void publish_ready(std::unique_lock<std::mutex>& lock);
  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, const OnWait& on_wait, const Ready& ready);

  const unsigned jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_;                   // shard to publish next
  std::deque<std::uint64_t> waiting_;    // shards that no thread has begun
  std::map<std::uint64_t, Task> tasks_;  // not published
  std::map<std::uint64_t, FinishedShard> written_;
  bool publishing_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  Write write_;
  Publish publish_;
  std::vector<std::thread> threads_;
};

}  // namespace bale
