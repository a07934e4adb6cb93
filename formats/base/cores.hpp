// The number of cores that this process may use: its affinity mask, and the CPU quota of its control groups.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace bale {

/// Cores in the affinity mask of a process (0: this one); nullopt if the system does not say.
std::optional<unsigned> affinity_cores(pid_t pid = 0);

/// The smallest quota of this process's control groups (version 1 or 2), in cores; nullopt if there is none. `root` is
/// put before /proc and /sys.
std::optional<double> cpu_quota(const std::string& root = "");

/// The part of `cores` that a quota leaves: whole cores, at least 1.
unsigned limited_by(std::optional<double> quota, unsigned cores);

}  // namespace bale
