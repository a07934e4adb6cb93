#include "bale/loader/worker/process/stall.hpp"

#include <algorithm>

#include "bale/loader/worker/process/child_process.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::uint64_t k_stopped_ns = 2'000'000'000;     // look() is this late only if this process was stopped
constexpr std::uint64_t k_idle_limit_ns = 3'000'000'000;  // many times the sleep of an idle worker
// A read that used 1 / k_working_share of the limit as CPU time was not waiting: for example, an endless decompression.
constexpr std::uint64_t k_working_share = 10;

}  // namespace

void StallClock::look() {
  const std::uint64_t now = now_ns();
  // If this process was stopped (Ctrl-Z), the workers were stopped too. That is not their fault.
  if (now_ns_ != 0 && now - now_ns_ > k_stopped_ns) resumed_ns_ = now;
  now_ns_ = now;
}

StallKind StallClock::stalled(const WorkerEntry& entry, pid_t pid, std::uint64_t limit_ns, Stall& stall) const {
  const std::uint64_t busy_since = entry.busy_since_ns.load();
  const std::uint64_t seen = entry.seen_ns.load();
  if (busy_since != stall.busy_since_ns) {
    stall.busy_since_ns = busy_since;
    stall.cpu_ns = cpu_time_ns(pid);
  }
  if (seen == 0) return StallKind::none;  // it has not started yet
  // An idle worker looks for work a few times per second, unless it was stopped.
  const std::uint64_t since = std::max(busy_since != 0 ? busy_since : seen, resumed_ns_);
  const std::uint64_t limit = busy_since != 0 ? limit_ns : std::max(limit_ns, k_idle_limit_ns);
  if (now_ns_ < since || now_ns_ - since < limit) return StallKind::none;
  const char state = state_of_process(pid);
  if (state == 'T' || state == 't' || busy_since == 0) return StallKind::stopped;
  // Uninterruptible: it waits for a page of a mapped file, or for one that was swapped out.
  if (state == 'D') return StallKind::none;
  const bool works = cpu_time_ns(pid) >= stall.cpu_ns + limit_ns / k_working_share;
  return entry.reading.load() != 0 && !works ? StallKind::none : StallKind::sample;
}

}  // namespace bale::loader_detail
