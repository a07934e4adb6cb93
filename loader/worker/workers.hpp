// Workers: what fills the rows of a ring, from its construction to its destruction: programs, threads, or the caller.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "bale/loader/worker/worker.hpp"

namespace bale::loader_detail {

class Workers {
 public:
  Workers() = default;
  virtual ~Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// To be called again and again by the thread that waits for rows. Returns whether it worked on a row itself, and so
  /// should not sleep. Throws the error that keeps all workers from running.
  virtual bool attend() { return false; }
  /// Of programs.
  virtual std::vector<int> pids() const { return {}; }
  virtual std::uint64_t num_replaced() const { return 0; }
};

class ThreadPool final : public Workers {
 public:
  /// All arguments must outlive the pool. Starts fewer threads if the system starts no more, and throws `out_of_memory`
  /// if it starts none.
  ThreadPool(Ring& ring, const WorkerConfig& config, std::uint32_t num_workers, const ShardOf& shard_of);
  /// Stops the ring and waits for the rows that are being filled.
  ~ThreadPool() override;

  /// Throws the error that ended a thread: a lack of memory outside of any row.
  bool attend() override;

 private:
  Ring& ring_;
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

class OwnWorker final : public Workers {
 public:
  /// `ring` and `config` must outlive this.
  OwnWorker(Ring& ring, const WorkerConfig& config, const ShardOf& shard_of) : worker_(ring, config, 0, shard_of) {}
  bool attend() override {
    worker_.step();
    return true;
  }

 private:
  Worker worker_;
};

}  // namespace bale::loader_detail
