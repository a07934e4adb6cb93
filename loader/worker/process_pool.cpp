#include "bale/loader/worker/process_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/loader/worker/clock.hpp"

namespace bale::loader_detail {
namespace {

constexpr int k_ring_fd = 3;                              // in the worker
constexpr int k_look_ms = 250;                            // how often stalls are looked for
constexpr int k_patience_ms = 500;                        // for workers that were told to stop
constexpr std::uint64_t k_stopped_ns = 2'000'000'000;     // no look at stalls is ever this late by itself
constexpr std::uint64_t k_idle_limit_ns = 3'000'000'000;  // many times as long as an idle worker sleeps
constexpr std::uint32_t k_max_fruitless = 16;
constexpr int k_pause_ms = 20;  // before replacing a worker that got nothing done

using Clock = std::chrono::steady_clock;

/// posix_spawn's settings: descriptor 3 is the ring, no other but the standard ones, no signal blocked or ignored.
class SpawnSettings {
 public:
  explicit SpawnSettings(int ring_fd) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, ring_fd, k_ring_fd);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, k_ring_fd + 1);
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

  int spawn(const std::string& program, std::vector<std::string> arguments, pid_t& pid) const {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

/// Somebody else's doing, rather than the worker's or its sample's.
bool is_outside_signal(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

}  // namespace

ProcessPool::ProcessPool(const Ring& ring, ProcessPoolOptions options, std::function<void(const WorkerEnd&)> on_end)
    : ring_(ring), options_(std::move(options)), on_end_(std::move(on_end)), processes_(options_.num_workers) {
  stop_event_ = ::eventfd(0, EFD_CLOEXEC);
  if (stop_event_ < 0) throw_errno("create an event for", "the loader");
  thread_ = std::thread([this] { supervise(); });
  all_started_.wait();
}

ProcessPool::~ProcessPool() {
  ring_.stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_event_, &one, sizeof one);
  thread_.join();
  ::close(stop_event_);
}

std::vector<int> ProcessPool::pids() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> pids;
  for (const Process& process : processes_) {
    if (process.pid > 0) pids.push_back(process.pid);
  }
  return pids;
}

void ProcessPool::check() const {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) throw Error(ErrorCode::io, failure_, {.path = options_.program});
}

void ProcessPool::give_up(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
  }
  ring_.announce_completion();  // whoever waits for rows looks at check()
}

void ProcessPool::start_worker(std::uint32_t number) {
  WorkerEntry& entry = ring_.worker(number);
  entry.busy_since_ns.store(0);
  entry.seen_ns.store(0);
  entry.error[0] = '\0';
  pid_t pid = -1;
  const int failed =
      SpawnSettings(ring_.fd())
          .spawn(options_.program,
                 {options_.program, std::to_string(k_ring_fd), std::to_string(number), std::to_string(::getpid())},
                 pid);
  if (failed != 0) return give_up(fmt::format("cannot start a worker: {}", std::strerror(failed)));
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) {  // its end would go unseen
    const int why = errno;
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED);
    return give_up(fmt::format("cannot watch a worker: {}", std::strerror(why)));
  }
  const std::lock_guard lock(mutex_);
  processes_[number] = {.pid = pid, .pidfd = pidfd, .rows_at_start = entry.rows_done.load()};
}

void ProcessPool::take_leave(std::uint32_t number) {
  Process& process = processes_[number];
  siginfo_t info{};
  const bool known = ::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED) == 0;
  const bool by_signal = known && (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
  WorkerEnd end{.worker = number};
  if (process.stalled) {
    end.by_own_fault = true;
    end.cause = fmt::format("made no progress for {} s and was killed", options_.stall_timeout_s);
  } else if (by_signal) {
    end.by_own_fault = !is_outside_signal(info.si_status);
    end.cause = fmt::format("was ended by signal {} ({})", info.si_status, ::sigdescr_np(info.si_status));
  } else if (known && info.si_status != 0) {
    end.by_own_fault = true;
    const char* const text = ring_.worker(number).error;
    end.cause = *text != '\0' ? fmt::format("gave up: {}", text) : fmt::format("ended with code {}", info.si_status);
  } else {
    end.cause = "is gone";
  }
  const bool fruitless = ring_.worker(number).rows_done.load() == process.rows_at_start;
  {
    const std::lock_guard lock(mutex_);
    ::close(process.pidfd);
    process = {};
  }
  on_end_(end);
  ++num_replaced_;
  fruitless_ = fruitless && end.by_own_fault ? fruitless_ + 1 : 0;
  if (fruitless_ >= k_max_fruitless || (fruitless && known && !by_signal && info.si_status != 0)) {
    return give_up(fmt::format("a worker {}", end.cause));
  }
  if (fruitless_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(k_pause_ms));
  start_worker(number);
}

void ProcessPool::kill_stalled() {
  const std::uint64_t now = now_ns();
  // Where this process was stopped (Ctrl-Z), so were the workers, and it is no fault of theirs.
  if (now - looked_ns_ > k_stopped_ns) resumed_ns_ = now;
  looked_ns_ = now;
  const auto limit_ns = static_cast<std::uint64_t>(options_.stall_timeout_s * 1e9);
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    const WorkerEntry& entry = ring_.worker(number);
    const std::uint64_t busy_since = entry.busy_since_ns.load();
    const std::uint64_t seen = entry.seen_ns.load();
    // An idle worker looks for work a few times a second, unless somebody stopped it.
    const std::uint64_t since = std::max(busy_since != 0 ? busy_since : seen, resumed_ns_);
    const std::uint64_t limit = busy_since != 0 ? limit_ns : std::max(limit_ns, k_idle_limit_ns);
    Process& process = processes_[number];
    if (process.pid < 0 || seen == 0 || now < since || now - since < limit) continue;
    process.stalled = true;
    ::kill(process.pid, SIGKILL);
  }
}

void ProcessPool::supervise() {
  for (std::uint32_t number = 0; number < processes_.size(); ++number) start_worker(number);
  all_started_.count_down();
  std::vector<pollfd> watched;
  for (;;) {
    watched.assign(1, {.fd = stop_event_, .events = POLLIN, .revents = 0});
    // A negative descriptor (no process) is passed over by poll.
    for (const Process& process : processes_) watched.push_back({.fd = process.pidfd, .events = POLLIN, .revents = 0});
    if (::poll(watched.data(), watched.size(), k_look_ms) < 0 && errno != EINTR) break;
    if (watched[0].revents != 0) break;
    for (std::uint32_t number = 0; number < processes_.size(); ++number) {
      if (watched[number + 1].revents != 0) take_leave(number);
    }
    if (options_.stall_timeout_s > 0) kill_stalled();
  }
  end_all();
}

void ProcessPool::end_all() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(k_patience_ms);
  for (Process& process : processes_) {
    if (process.pid < 0) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ended{.fd = process.pidfd, .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) ::kill(process.pid, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED);
    ::close(process.pidfd);
    const std::lock_guard lock(mutex_);
    process = {};
  }
}

}  // namespace bale::loader_detail
