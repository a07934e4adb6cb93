// Which workers make no progress, and why.
//
// A worker that works on one sample for too long is killed, and the sample is the cause. A worker that waits for the
// storage is not killed: otherwise every sample would be quarantined while a file server restarts.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "bale/loader/ring/ring.hpp"

namespace bale::loader_detail {

enum class StallKind : std::uint8_t {
  none,
  sample,   // it works on a sample, or waits for something other than storage
  stopped,  // the process was stopped
};

/// What is known about one worker between two looks.
struct Stall {
  StallKind killed_for = StallKind::none;
  std::uint64_t busy_since_ns = 0;  // the step that cpu_ns belongs to
  std::uint64_t cpu_ns = 0;         // CPU time of the process when that step was first seen
};

/// Measures how long workers have been busy, without the time for which this process itself was stopped.
class StallClock {
 public:
  /// To be called before each round of stalled().
  void look();
  /// Whether the worker has been at the same step for longer than `limit_ns`, and why.
  StallKind stalled(const WorkerEntry& entry, pid_t pid, std::uint64_t limit_ns, Stall& stall) const;

 private:
  std::uint64_t now_ns_ = 0;
  std::uint64_t resumed_ns_ = 0;  // when this process last continued after it was stopped
};

}  // namespace bale::loader_detail
