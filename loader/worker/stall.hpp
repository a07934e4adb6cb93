// Which workers stand still, and whose fault that is.
//
// A worker that works on one sample for too long is killed, and the sample blamed. A worker that waits for the storage
// is not: every sample would be condemned while a file server restarts.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "bale/loader/ring/ring.hpp"

namespace bale::loader_detail {

enum class StallKind : std::uint8_t {
  none,
  sample,   // it works on a sample, or waits for something that is no storage
  stopped,  // somebody stopped the process
};

/// What is known of one worker from look to look.
struct Stall {
  StallKind killed_for = StallKind::none;
  std::uint64_t busy_since_ns = 0;  // what the processor time below belongs to
  std::uint64_t cpu_ns = 0;         // that the process had taken when this was first seen
};

/// Tells how long workers have been at something, without the time for which this process itself was stopped.
class StallClock {
 public:
  /// Before each round of looks.
  void look();
  /// Whether the worker has been at one thing for longer than `limit_ns`, and why.
  StallKind stalled(const WorkerEntry& entry, pid_t pid, std::uint64_t limit_ns, Stall& stall) const;

 private:
  std::uint64_t now_ns_ = 0;
  std::uint64_t resumed_ns_ = 0;  // when this process last went on after having been stopped
};

}  // namespace bale::loader_detail
