// CopyThread: the thread that starts copies between calls of next(). It repeats a step, and sleeps as the step says.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace bale::cuda_detail {

class CopyThread {
 public:
  /// How long the thread sleeps after a step.
  struct Pause {
    bool until_woken = false;
    std::uint32_t seen = 0;  // number of completions before the step
    int timeout_ms = 0;
  };
  static Pause until_next() { return {.until_woken = true}; }
  static Pause until_completion(std::uint32_t seen, int timeout_ms) { return {.seen = seen, .timeout_ms = timeout_ms}; }

  using Step = std::function<Pause()>;
  using Wait = std::function<void(std::uint32_t seen, int timeout_ms)>;

  /// Starts the thread. `step` and `wait` run there and must not throw; `interrupt` ends a `wait`. Throws
  /// std::system_error if there can be no further thread.
  CopyThread(Step step, Wait wait, std::function<void()> interrupt);
  /// Waits for the end of the current step.
  ~CopyThread();
  CopyThread(const CopyThread&) = delete;
  CopyThread& operator=(const CopyThread&) = delete;

  /// Ends a pause until_next().
  void wake();

 private:
  void run();
  bool sleep(const Pause& pause);

  Step step_;
  Wait wait_;
  std::function<void()> interrupt_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

/// Wakes the copy thread, if there is one, when a call ends that gave it work.
class WakeAtEnd {
 public:
  explicit WakeAtEnd(CopyThread* thread) : thread_(thread) {}
  ~WakeAtEnd() {
    if (thread_ != nullptr) thread_->wake();
  }
  WakeAtEnd(const WakeAtEnd&) = delete;
  WakeAtEnd& operator=(const WakeAtEnd&) = delete;

 private:
  CopyThread* thread_;
};

}  // namespace bale::cuda_detail
