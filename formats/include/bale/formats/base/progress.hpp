// Progress: counters of a long operation, and the flag that stops it.
//
// Ownership: the caller owns it, and it must outlive the operation.
// Threads: every member may be read and written by any thread at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "bale/formats/base/error.hpp"

namespace bale {

struct Progress {
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> skipped{0};
  std::atomic<std::uint64_t> shards{0};
  std::atomic<std::uint64_t> total_samples{0};
  std::atomic<std::uint64_t> total_bytes{0};
  std::atomic<std::uint64_t> total_shards{0};
  /// Set it from any thread, or from a signal handler, to stop the operation, which then throws `interrupted`. An
  /// operation may also set it itself after an error, to stop its own threads: see pack().
  std::atomic<bool> stop{false};

  /// Throws `interrupted` if `stop` is set.
  void throw_if_stopped() const {
    if (stop.load(std::memory_order_relaxed)) throw Error(ErrorCode::interrupted, "interrupted");
  }
};

}  // namespace bale
