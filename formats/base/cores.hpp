// How many cores this process may use: its affinity mask and the CPU quota of its control groups, as containers have
// it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace bale {

/// Cores in the affinity mask of a process (0: this one); nullopt if the system does not say.
std::optional<unsigned> affinity_cores(pid_t pid = 0);

/// The least quota of the control groups that this process is in, version 1 or 2, in cores; nullopt if there is none.
/// `root` is where the file system begins: /proc and /sys are looked for below it.
std::optional<double> cpu_quota(const std::string& root = "");

/// What is left of `cores` under a quota: whole cores, at least 1.
unsigned limited_by(std::optional<double> quota, unsigned cores);

}  // namespace bale
