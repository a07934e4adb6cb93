// The cores and the memory that this process may use: its affinity mask, and the limits of its control groups.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace bale {

// The control groups of this process (Linux, version 1 or 2), whose limits apply to it.

/// Calls `visit` with the directory of each group that this process is in and of each of its parents, whose limits also
/// apply. In a container the directory may be the host's and may not exist. `controller` names a hierarchy of version
/// 1, such as "cpu". `root` is put before /proc and /sys.
void visit_control_groups(const std::string& root, std::string_view controller,
                          const std::function<void(const std::string& directory, bool is_version_2)>& visit);

/// The memory that this process can still use, with what the page cache can give back.
/// Bytes that are free or hold files that can be dropped: of the machine (MemAvailable), or below a limit of this
/// process's control groups (version 1 or 2), whichever is less. nullopt if the system does not say. `root` is put
/// before /proc and /sys.
std::optional<std::uint64_t> available_memory(const std::string& root = "");

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

/// Cores that this process may use, by its affinity mask and that quota: at least 1.
unsigned usable_cores();

}  // namespace bale
