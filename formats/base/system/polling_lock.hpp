// polling_lock(): waits for a mutex and calls something in the meantime.
#pragma once

#include <chrono>
#include <mutex>

namespace bale {

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
