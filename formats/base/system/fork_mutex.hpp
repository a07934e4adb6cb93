// ForkMutex: a mutex that fork() waits for, so that a child finds it unlocked.
//
// A child of fork() has one thread only. It would wait forever for a mutex that another thread of its parent held.
//
// Ownership: a static object at namespace scope, made before there are threads.
// Threads: as std::mutex. A thread that holds one takes no other one, because fork() locks them in any order.
#pragma once

#include <atomic>
#include <cstdint>
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

}  // namespace bale
