// ChildProcess: a worker program that runs as a child of this process.
//
// A pidfd reports its end. If there is none (kernels before 5.3, gVisor, seccomp profiles, no descriptor left), the
// caller must poll has_ended(). The exit status may be lost: the kernel keeps none if this process ignores SIGCHLD, and
// other code of this process may have read it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "bale/loader/ring/ring.hpp"
#include "bale/loader/worker/process/worker_program.hpp"

namespace bale::loader_detail {

/// How a child ended.
struct ChildEnd {
  enum class Kind : std::uint8_t { exit, signal, unknown };
  Kind kind = Kind::unknown;
  int status = 0;  // the exit code or the signal
};

/// The descriptors of this process that a worker gets.
struct ChildDescriptors {
  int ring = -1;
  int indexes = -1;   // IndexMemory::fd(), if there is one
  int messages = -1;  // its standard output and error until it has started; -1: this process's standard error
};

// The descriptor numbers in the worker.
inline constexpr int k_ring_fd = 3;
inline constexpr int k_program_fd = 4;
inline constexpr int k_index_fd = 5;
inline constexpr int k_error_fd = 6;  // this process's standard error, or /dev/null if it has none

class ChildProcess {
 public:
  ChildProcess() = default;
  /// Starts the program as worker `number`. Throws `io`.
  ChildProcess(const WorkerProgram& program, std::uint32_t number, const ChildDescriptors& given);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// The pid of the child; -1 if there is none.
  pid_t pid() const { return pid_; }
  bool exists() const { return pid_ > 0; }
  /// Readable when the child has ended; -1 if there is no pidfd.
  int pidfd() const { return pidfd_; }
  bool has_ended() const;
  void kill() const;
  /// Waits until the child has ended. exists() is false after that.
  ChildEnd wait();
  /// Forgets the child without waiting for it. exists() is false after that.
  void abandon();

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
};

/// The state of a process in /proc: 'R' running, 'S' sleeping, 'D' uninterruptible, 'T' stopped, ...; '?' if unknown.
char state_of_process(pid_t pid);
/// The CPU time that a process has used; 0 if unknown.
std::uint64_t cpu_time_ns(pid_t pid);

class StartupMessages {
 public:
  StartupMessages();
  ~StartupMessages();
  StartupMessages(const StartupMessages&) = delete;
  StartupMessages& operator=(const StartupMessages&) = delete;

  /// For the workers' output; -1 if the system refused a memfd.
  int fd() const { return fd_; }
  /// The last line that was printed; empty if there is none. Deletes all lines.
  std::string take_last_line();

 private:
  int fd_ = -1;
};

// Which workers make no progress, and why.
//
// A worker that works on one sample for too long is killed, and the sample is the cause. A worker that waits for the
// storage is not killed: otherwise every sample would be quarantined while a file server restarts.

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
