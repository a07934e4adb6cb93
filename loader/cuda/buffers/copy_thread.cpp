#include "bale/loader/cuda/buffers/copy_thread.hpp"

#include <utility>

#include "bale/formats/base/system/threads.hpp"

namespace bale::cuda_detail {

CopyThread::CopyThread(Step step, Wait wait, std::function<void()> interrupt)
    : step_(std::move(step)),
      wait_(std::move(wait)),
      interrupt_(std::move(interrupt)),
      thread_(start_thread([this] { run(); })) {}

CopyThread::~CopyThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  interrupt_();
  thread_.join();
}

void CopyThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (woken_) return;
    woken_ = true;
  }
  changed_.notify_all();
}

void CopyThread::run() {
  while (sleep(step_())) {
  }
}

/// Returns false if the thread is to end.
bool CopyThread::sleep(const Pause& pause) {
  std::unique_lock lock(mutex_);
  if (pause.until_woken) {
    changed_.wait(lock, [&] { return woken_ || stopping_; });
    woken_ = false;
    return !stopping_;
  }
  if (stopping_) return false;
  lock.unlock();
  wait_(pause.seen, pause.timeout_ms);
  lock.lock();
  return !stopping_;
}

}  // namespace bale::cuda_detail
