// CPU time and memory of processes, as the kernel accounts for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace bale::tools {

/// User and system seconds of this process, of the children that it has waited for, and of the processes `pids`. If a
/// child ends and is waited for between two calls, it still counts, so differences are correct.
double cpu_seconds(std::span<const int> pids);

/// Proportional set size (PSS) of this process and `pids`: anonymous and shared memory. Pages of mapped files do not
/// count, because the kernel can reclaim them. nullopt if the kernel does not report it (before 5.9).
std::optional<std::uint64_t> pss_bytes(std::span<const int> pids);

/// Seconds since this process was started, including the time before main(); to the kernel's tick, usually 10 ms.
double seconds_since_start();

/// Seconds since the machine was started, summed over the cores that this process may use (its affinity mask).
struct MachineTimes {
  double busy = 0;
  double waiting = 0;  // idle while a read or write is under way
  double idle = 0;
};
/// All zero if the kernel does not report them.
MachineTimes machine_times();

}  // namespace bale::tools
