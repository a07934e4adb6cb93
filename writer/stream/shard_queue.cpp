#include "bale/writer/stream/shard_queue.hpp"

#include <chrono>
#include <utility>

#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/threads.hpp"

namespace bale {

ShardQueue::~ShardQueue() { stop(); }

template <typename Ready>
void ShardQueue::wait(std::unique_lock<std::mutex>& lock, const OnWait& on_wait, const Ready& ready) {
  constexpr std::chrono::milliseconds k_poll{50};
  while (!ready() && failure_ == nullptr) {
    if (changed_.wait_for(lock, k_poll) == std::cv_status::no_timeout || !on_wait) continue;
    lock.unlock();
    on_wait();
    lock.lock();
  }
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void ShardQueue::push(Task task, const OnWait& on_wait) {
  std::unique_lock lock(mutex_);
  wait(lock, on_wait, [&] { return tasks_.size() < jobs_; });
  if (threads_.size() < jobs_ && threads_.size() <= tasks_.size()) {
    const UnboundThread unbound;
    if (threads_.empty()) {
      threads_.push_back(start_thread([this] { run(); }));
    } else {
      add_thread(threads_, [this] { run(); });
    }
  }
  const std::uint64_t shard = task.pending->shard();
  tasks_.emplace(shard, std::move(task));
  waiting_.push_back(shard);
  changed_.notify_all();
}

void ShardQueue::drain(const OnWait& on_wait) {
  std::unique_lock lock(mutex_);
  wait(lock, on_wait, [&] { return tasks_.empty(); });
}

std::vector<ShardQueue::Task> ShardQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::vector<Task> left;
  for (auto& [shard, task] : tasks_) left.push_back(std::move(task));
  tasks_.clear();
  return left;
}

void ShardQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || failure_ != nullptr || !waiting_.empty(); });
    if (stopping_ || failure_ != nullptr) return;
    const std::uint64_t shard = waiting_.front();
    waiting_.pop_front();
    const Task& task = tasks_.at(shard);  // published by nobody before it is written
    lock.unlock();
    try {
      FinishedShard finished = write_(task);
      lock.lock();
      written_.emplace(shard, std::move(finished));
      publish_ready(lock);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      publishing_ = false;
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

/// One thread publishes at a time. What another thread finishes in the meantime is published by that one.
void ShardQueue::publish_ready(std::unique_lock<std::mutex>& lock) {
  while (!publishing_ && failure_ == nullptr && written_.contains(next_)) {
    publishing_ = true;
    FinishedShard finished = std::move(written_.extract(next_).mapped());
    const Task& task = tasks_.at(next_);
    lock.unlock();
    publish_(task, std::move(finished));
    lock.lock();
    tasks_.erase(next_);
    ++next_;
    publishing_ = false;
    changed_.notify_all();
  }
}

}  // namespace bale
