// What processes take of the machine: CPU time and memory, as the kernel accounts for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace bale::tools {

/// User and system seconds of this process and the children that it has waited for, and of the processes `pids`. One
/// that ends and is waited for in between keeps counting, so differences are right whatever comes and goes.
double cpu_seconds(std::span<const int> pids);

/// Proportional share of the memory that this process and `pids` hold, anonymous and shared; pages of mapped files are
/// the kernel's to take back and do not count. Nothing where the kernel does not tell (before 5.9).
std::optional<std::uint64_t> pss_bytes(std::span<const int> pids);

/// Since this process was started, the time before main() included; to the kernel's tick, usually 10 ms.
double seconds_since_start();

/// Seconds of all cores of the machine together, since it was started.
struct MachineTimes {
  double busy = 0;
  double waiting = 0;  // idle while a read or write is under way
  double idle = 0;
};
/// All zero where the kernel does not tell.
MachineTimes machine_times();

}  // namespace bale::tools
