// Workers in the loader's process: threads, or the thread that waits for rows.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "bale/loader/worker/worker.hpp"
#include "bale/loader/worker/workers.hpp"

namespace bale::loader_detail {

class ThreadPool final : public Workers {
 public:
  /// All arguments must outlive the pool.
  ThreadPool(Ring& ring, const WorkerConfig& config, std::uint32_t num_workers, const ShardOf& shard_of);
  /// Stops the ring and waits for the rows that are being filled.
  ~ThreadPool() override;

 private:
  Ring& ring_;
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
