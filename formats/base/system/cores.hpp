// The number of cores that this process may use: its affinity mask, and the CPU quota of its control groups.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace bale {

/// Cores in the affinity mask of a process (0: this one, as an UnboundThread); nullopt if the system does not say.
std::optional<unsigned> affinity_cores(pid_t pid = 0);

/// While it lives, this thread may use the cores that the process was started with, and so may the threads and programs
/// that it starts. It does nothing unless an OpenMP library has bound the thread to one of its places: with
/// OMP_PROC_BIND, GOMP_CPU_AFFINITY or KMP_AFFINITY in the environment, `import torch` binds the main thread to one
/// core. Affinity that was set otherwise stays.
class UnboundThread {
 public:
  UnboundThread();
  ~UnboundThread();
  UnboundThread(const UnboundThread&) = delete;
  UnboundThread& operator=(const UnboundThread&) = delete;

 private:
  std::optional<cpu_set_t> bound_{};
};

/// The smallest quota of this process's control groups (version 1 or 2), in cores; nullopt if there is none. `root` is
/// put before /proc and /sys.
std::optional<double> cpu_quota(const std::string& root = "");

/// The part of `cores` that a quota leaves: whole cores, at least 1.
unsigned limited_by(std::optional<double> quota, unsigned cores);

}  // namespace bale
