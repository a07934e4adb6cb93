#include "bale/loader/worker/process/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/ring/shared_memory.hpp"

namespace bale::loader_detail {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

/// posix_spawn's settings: the descriptors of child_process.hpp, and no signal blocked or ignored. The worker closes
/// all other descriptors when it starts: posix_spawn can do that from glibc 2.34 on only.
class SpawnSettings {
 public:
  SpawnSettings(int program_fd, const ChildDescriptors& given) {
    ::posix_spawn_file_actions_init(&actions_);
    // The given descriptors have higher numbers than these, so no step closes one that a later step needs.
    if (is_open(STDERR_FILENO)) {
      ::posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, k_error_fd);
    } else {
      ::posix_spawn_file_actions_addopen(&actions_, k_error_fd, "/dev/null", O_WRONLY, 0);
    }
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    const int messages = given.messages >= 0 ? given.messages : k_error_fd;
    ::posix_spawn_file_actions_adddup2(&actions_, messages, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, messages, STDERR_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, given.ring, k_ring_fd);
    if (given.indexes >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions_, given.indexes, k_index_fd);
    } else {
      ::posix_spawn_file_actions_addopen(&actions_, k_index_fd, "/dev/null", O_RDONLY, 0);
    }
    if (program_fd >= 0) ::posix_spawn_file_actions_adddup2(&actions_, program_fd, k_program_fd);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  int spawn(const std::string& path, std::vector<std::string> arguments, pid_t& pid) const {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    return ::posix_spawn(&pid, path.c_str(), &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

constexpr off_t k_longest_line = 300;

constexpr std::uint64_t k_stopped_ns = 2'000'000'000;     // look() is this late only if this process was stopped
constexpr std::uint64_t k_idle_limit_ns = 3'000'000'000;  // many times the sleep of an idle worker
// A read that used 1 / k_working_share of the limit as CPU time was not waiting: for example, an endless decompression.
constexpr std::uint64_t k_working_share = 10;

}  // namespace

ChildProcess::ChildProcess(const WorkerProgram& program, std::uint32_t number, const ChildDescriptors& given) {
  const std::vector<std::string> arguments{program.path(), std::to_string(k_ring_fd), std::to_string(number),
                                           std::to_string(::getpid()), std::to_string(::syscall(SYS_gettid))};
  const SpawnSettings settings(program.fd(), given);
  // Starts the open file, not its path: the package may be replaced or removed while the loader is in use.
  int failed = ENOENT;
  if (program.fd() >= 0) failed = settings.spawn(fmt::format("/proc/self/fd/{}", k_program_fd), arguments, pid_);
  if (failed == ENOENT) failed = settings.spawn(program.path(), arguments, pid_);  // there is no /proc
  if (failed != 0) {
    pid_ = -1;
    throw Error(ErrorCode::io, fmt::format("could not be started: {}", std::strerror(failed)));
  }
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
}

ChildProcess::~ChildProcess() {
  if (!exists()) return;
  kill();
  wait();
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::exchange(other.pidfd_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  return *this;
}

bool ChildProcess::has_ended() const {
  siginfo_t info{};
  const int failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return failed != 0 ? errno == ECHILD : info.si_pid == pid_;
}

void ChildProcess::kill() const {
  // The pid may belong to another process by now, if other code waited for the child. The pidfd cannot.
  if (pidfd_ >= 0 && ::syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0) == 0) return;
  if (!has_ended()) ::kill(pid_, SIGKILL);
}

ChildEnd ChildProcess::wait() {
  siginfo_t info{};
  int failed = 0;
  do {
    failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
  } while (failed != 0 && errno == EINTR);
  abandon();
  if (failed != 0) return {};
  return {.kind = info.si_code == CLD_EXITED ? ChildEnd::Kind::exit : ChildEnd::Kind::signal, .status = info.si_status};
}

void ChildProcess::abandon() {
  if (pidfd_ >= 0) ::close(pidfd_);
  pid_ = -1;
  pidfd_ = -1;
}

char state_of_process(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return '?';
  char text[512] = {};
  [[maybe_unused]] const std::size_t size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  // "PID (NAME) STATE ...": the name may contain any characters.
  const char* const end = std::strrchr(text, ')');
  return end != nullptr && end[1] == ' ' && end[2] != '\0' ? end[2] : '?';
}

std::uint64_t cpu_time_ns(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

StartupMessages::StartupMessages() {
  fd_ = memory_descriptor("bale worker messages");
  if (fd_ >= 0) ::fcntl(fd_, F_SETFL, O_APPEND);
}

StartupMessages::~StartupMessages() {
  if (fd_ >= 0) ::close(fd_);
}

std::string StartupMessages::take_last_line() {
  if (fd_ < 0) return "";
  const off_t end = ::lseek(fd_, 0, SEEK_END);
  const off_t begin = end > k_longest_line ? end - k_longest_line : 0;
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  const ssize_t size = ::pread(fd_, text.data(), text.size(), begin);
  if (size <= 0 || ::ftruncate(fd_, 0) != 0) return "";
  text.resize(static_cast<std::size_t>(size));
  text.erase(text.find_last_not_of(" \n\r") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

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
