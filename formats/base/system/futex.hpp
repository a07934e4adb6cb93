// Linux futexes: a process sleeps until a word in shared memory changes.
#pragma once

#include <atomic>
#include <cstdint>

namespace bale {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// Sleeps while `word` is `seen`, for at most `timeout_ms`. Spurious wakeups are possible.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, int timeout_ms);
/// Adds 1 to `word` and wakes all threads that sleep on it.
void futex_bump(std::atomic<std::uint32_t>& word);

}  // namespace bale
