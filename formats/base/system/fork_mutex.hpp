// ForkMutex: a mutex that fork() waits for, so that a child finds it unlocked.
//
// A child of fork() has one thread only. It would wait for ever for a mutex that another thread of its parent held.
//
// Ownership: a static object at namespace scope, made before there are threads.
// Threads: as std::mutex. A thread that holds one takes no other one, because fork() locks them in any order.
#pragma once

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

}  // namespace bale
