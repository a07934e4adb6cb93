#include "bale/loader/worker/workers.hpp"

namespace bale::loader_detail {

ThreadPool::ThreadPool(Ring& ring, const WorkerConfig& config, std::uint32_t num_workers, const ShardOf& shard_of)
    : ring_(ring) {
  for (std::uint32_t number = 0; number < num_workers; ++number) {
    threads_.emplace_back(
        [&ring, &config, number, &shard_of] { Worker(ring, config, number, shard_of).run([] { return true; }); });
  }
}

ThreadPool::~ThreadPool() {
  ring_.stop();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace bale::loader_detail
