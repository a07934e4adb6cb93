// Progress of a long run: counters that a display may read at any time from another thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "bale/formats/core/error.hpp"

namespace bale {

struct Progress {
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> skipped{0};
  std::atomic<std::uint64_t> shards{0};
  std::atomic<std::uint64_t> total_samples{0};
  std::atomic<std::uint64_t> total_bytes{0};
  std::atomic<std::uint64_t> total_shards{0};
  /// Set from anywhere, a signal handler included: the run ends soon after with `interrupted`.
  std::atomic<bool> stop{false};

  void throw_if_stopped() const {
    if (stop.load(std::memory_order_relaxed)) throw Error(ErrorCode::interrupted, "interrupted");
  }
};

}  // namespace bale
