// Sleeping until a shared word changes, between processes (Linux futexes).
#pragma once

#include <atomic>
#include <cstdint>

namespace bale::loader_detail {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// Sleeps while `word` is `seen`, for `timeout_ms` at most; may wake up for nothing.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, int timeout_ms);
/// Adds one to `word` and wakes everyone who sleeps on it.
void futex_bump(std::atomic<std::uint32_t>& word);

}  // namespace bale::loader_detail
