// ChildProcess: a worker program that runs as a child of this process.
//
// Its end is seen by a pidfd. If the system has none (kernels before 5.3, gVisor, seccomp profiles, no descriptor
// left), whoever waits has to look from time to time. Its exit status may be lost: the kernel keeps none if this
// process ignores SIGCHLD, and other code of this process may have taken it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "bale/loader/worker/worker_program.hpp"

namespace bale::loader_detail {

/// How a child ended.
struct ChildEnd {
  enum class Kind : std::uint8_t { exit, signal, unknown };
  Kind kind = Kind::unknown;
  int status = 0;  // the exit code or the signal
};

/// Which descriptors of this process a worker gets.
struct ChildDescriptors {
  int ring = -1;
  int messages = -1;  // becomes its standard output and error until it has started; -1: those of this process
};

// What the descriptors are in the worker.
inline constexpr int k_ring_fd = 3;
inline constexpr int k_program_fd = 4;
inline constexpr int k_error_fd = 5;  // this process's standard error, or /dev/null if it has none

class ChildProcess {
 public:
  ChildProcess() = default;
  /// Starts the program as the worker of that number. Throws `io`.
  ChildProcess(const WorkerProgram& program, std::uint32_t number, const ChildDescriptors& given);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// Of the child; -1: there is none.
  pid_t pid() const { return pid_; }
  bool exists() const { return pid_ > 0; }
  /// Readable when the child has ended; -1 if the system has no such descriptor.
  int pidfd() const { return pidfd_; }
  bool has_ended() const;
  void kill() const;
  /// Waits for its end. There is no child afterwards.
  ChildEnd wait();
  /// Leaves it to the system: it cannot be ended.
  void abandon();

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
};

/// What the system says of a process: 'R' running, 'S' sleeping, 'D' waiting for a device, 'T' stopped, ...;
/// '?' if it says nothing.
char state_of_process(pid_t pid);
/// The processor time that a process has taken; 0 if the system does not say.
std::uint64_t cpu_time_ns(pid_t pid);

}  // namespace bale::loader_detail
