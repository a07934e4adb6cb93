#include "bale/loader/worker/workers.hpp"

#include <new>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/threads.hpp"

namespace bale::loader_detail {

ThreadPool::ThreadPool(Ring& ring, const WorkerConfig& config, std::uint32_t num_workers, const ShardOf& shard_of)
    : ring_(ring) {
  threads_.reserve(num_workers);
  const auto work = [this, &ring, &config, &shard_of](std::uint32_t number) {
    try {
      Worker(ring, config, number, shard_of).run([] { return true; });
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  };
  threads_.push_back(start_thread([work] { work(0); }));
  for (std::uint32_t number = 1; number < num_workers; ++number) {
    if (!add_thread(threads_, [work, number] { work(number); })) break;  // fewer do the same work
  }
}

ThreadPool::~ThreadPool() {
  ring_.stop();
  for (std::thread& thread : threads_) thread.join();
}

bool ThreadPool::attend() {
  const std::lock_guard lock(mutex_);
  if (!failure_) return false;
  try {
    std::rethrow_exception(failure_);
  } catch (const std::bad_alloc&) {
    throw out_of_memory_error();
  }
}

}  // namespace bale::loader_detail
