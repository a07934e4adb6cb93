// ForkMutex: a mutex that fork() waits for, so that a child finds it unlocked. PerProcess: an object that each process
// has one of.
//
// A child of fork() has one thread only. It would wait forever for a mutex that another thread of its parent held.
//
// Ownership: a static object at namespace scope, made before there are threads.
// Threads: as std::mutex. A thread that holds one takes no other one, because fork() locks them in any order.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

namespace bale {

class ForkMutex {
 public:
  ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static void lock_all();
  static void unlock_all();

  std::mutex mutex_;
  ForkMutex* const next_;  // of the list of all
};

// Linux futexes: a process sleeps until a word in shared memory changes.

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// Sleeps while `word` is `seen`, for at most `timeout_ms`. Spurious wakeups are possible.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, int timeout_ms);
/// Adds 1 to `word` and wakes all threads that sleep on it.
void futex_bump(std::atomic<std::uint32_t>& word);

// PerProcess: an object that each process has one of. It is made by the first use.
//
// A child of fork() has none of its parent's threads, and a mutex may be locked by one of them forever. So the child
// makes an object of its own and leaves its copy of the parent's alone. No mutex is involved: another thread might hold
// it when the process forks.
//
// Ownership: a constant-initialized static object. What it made is destroyed by destroy(), if at all.
// Threads: any number may call.

template <typename T>
class PerProcess {
 public:
  constexpr PerProcess() = default;

  /// The object of this process. `make` returns a std::unique_ptr<T>; if it throws, the next call tries again.
  template <typename Make>
  T& get(Make make) {
    Own* here = current_.load();
    if (here == nullptr || here->owner != ::getpid()) {
      auto made = std::make_unique<Own>();
      made->owner = ::getpid();
      if (current_.compare_exchange_strong(here, made.get())) here = made.release();
    }
    std::call_once(here->is_made, [&] { here->object = make(); });
    return *here->object;
  }

  /// Destroys the object of this process, if there is one: at its exit, when nobody uses it.
  void destroy() {
    Own* const here = current_.load();
    if (here == nullptr || here->owner != ::getpid()) return;
    current_ = nullptr;
    delete here;
  }

 private:
  struct Own {
    pid_t owner = 0;
    std::once_flag is_made;
    std::unique_ptr<T> object;
  };
  std::atomic<Own*> current_{nullptr};
};

// polling_lock(): waits for a mutex and calls something in the meantime.

/// Locks `mutex`. Calls `poll` every `interval` until then; what it throws ends the wait.
template <typename Poll>
std::unique_lock<std::timed_mutex> polling_lock(std::timed_mutex& mutex, std::chrono::milliseconds interval,
                                                const Poll& poll) {
  std::unique_lock lock(mutex, std::defer_lock);
  // Not try_lock_for(): ThreadSanitizer of GCC 12 and Clang 14 does not know the call behind it, and reports races.
  while (!lock.try_lock_until(std::chrono::system_clock::now() + interval)) poll();
  return lock;
}

}  // namespace bale
