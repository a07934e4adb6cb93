// ThreadPool: workers that are threads of the loader's process.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "bale/loader/worker/worker.hpp"

namespace bale::loader_detail {

class ThreadPool {
 public:
  /// All arguments must outlive the pool.
  ThreadPool(Ring& ring, const WorkerConfig& config, std::uint32_t num_workers, const ShardOf& shard_of);
  /// Stops the ring and waits for the rows that are being filled.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  Ring& ring_;
  std::vector<std::thread> threads_;
};

}  // namespace bale::loader_detail
