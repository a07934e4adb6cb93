#include "bale/loader/worker/process/process_pool.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/loader/worker/process/worker_process.hpp"

namespace bale::loader_detail {
namespace {

using std::chrono::milliseconds;

constexpr int k_look_ms = 250;                 // how often to look for stalls
constexpr int k_look_closely_ms = 20;          // how often to look for the end of a worker without a pidfd
constexpr milliseconds k_patience{500};        // to wait for workers that were asked to stop
constexpr milliseconds k_last_patience{2000};  // to wait for workers that were killed
constexpr std::uint32_t k_max_failed_starts = 5;
constexpr std::uint32_t k_max_fruitless = 16;
// Pause before a worker that finished no row is replaced. It doubles each time.
constexpr milliseconds k_first_pause{20};
constexpr std::uint32_t k_max_doublings = 6;
constexpr milliseconds k_healthy_after{1000};
constexpr milliseconds k_start_patience{60'000};  // with a worker that has not failed and does not run yet

/// Whether another process sent the signal, so that neither the worker nor its sample is at fault: any that is not
/// raised by what a process does itself.
bool is_outside_signal(int signal) {
  constexpr std::array k_own{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  return std::find(k_own.begin(), k_own.end(), signal) == k_own.end();
}

}  // namespace

ProcessPool::ProcessPool(Ring& ring, const WorkerProgram& program, const ProcessPoolOptions& options,
                         std::function<void(const WorkerEnd&)> on_end)
    : ring_(ring), program_(program), options_(options), on_end_(std::move(on_end)), processes_(options_.num_workers) {
  stop_event_ = ::eventfd(0, EFD_CLOEXEC);
  if (stop_event_ < 0) throw_errno("create an event for", "the loader");
  try {
    thread_ = start_thread([this] { supervise(); });
  } catch (...) {
    ::close(stop_event_);
    throw;
  }
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
    if (process.child.exists()) pids.push_back(process.child.pid());
  }
  return pids;
}

bool ProcessPool::attend() {
  std::string failure;
  {
    const std::lock_guard lock(mutex_);
    failure.swap(failure_);
  }
  if (failure.empty()) return false;
  throw Error(ErrorCode::io, failure,
              {.path = program_.path(),
               .hint = "run the program by hand to see why it fails, or use threads: threads=True in "
                       "Python, WorkerMode::threads in C++"});
}

/// Whether workers have finished rows since the last call. If so, earlier failures no longer count.
bool ProcessPool::has_progress() {
  std::uint64_t rows = 0;
  for (std::uint32_t number = 0; number < processes_.size(); ++number) rows += ring_.worker(number).rows_done.load();
  return std::exchange(rows_seen_, rows) != rows;
}

/// Whether there is a worker that is not likely to fail like those before it. One that never failed may take long to
/// start on a busy machine.
bool ProcessPool::has_healthy_worker() const {
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    const Process& process = processes_[number];
    if (!process.child.exists()) continue;
    const bool has_started = ring_.worker(number).seen_ns.load() != 0;
    const auto age = Clock::now() - process.started_at;
    if (process.failures == 0 && (has_started || age < k_start_patience)) return true;
    if (has_started && age > k_healthy_after) return true;
  }
  return false;
}

/// A worker that fails is started again later, as long as others run. If none runs, check() throws.
void ProcessPool::note_failure(bool is_start, const std::string& cause) {
  if (has_progress()) failed_starts_ = fruitless_ = 0;
  ++(is_start ? failed_starts_ : fruitless_);
  const bool is_hopeless = failed_starts_ >= k_max_failed_starts && !has_healthy_worker();
  if (!is_hopeless && fruitless_ < k_max_fruitless) return;
  const std::string line = messages_.take_last_line();
  {
    const std::lock_guard lock(mutex_);
    failure_ = fmt::format("a worker {}{}{}", cause, line.empty() ? "" : ": ", printable(line));
  }
  failed_starts_ = fruitless_ = 0;
  ring_.announce_completion();  // wakes the thread that waits for rows and calls check()
}

void ProcessPool::start_later(Process& process) {
  process.start_at = Clock::now() + k_first_pause * (1U << std::min(process.failures, k_max_doublings));
  ++process.failures;
}

void ProcessPool::start_worker(std::uint32_t number) {
  WorkerEntry& entry = ring_.worker(number);
  entry.busy_since_ns.store(0);
  entry.reading.store(0);
  entry.seen_ns.store(0);
  entry.error[0] = '\0';
  Process& process = processes_[number];
  process.rows_at_start = entry.rows_done.load();
  process.stall = {};
  try {
    ChildProcess child(program_, number,
                       {.ring = ring_.fd(), .indexes = options_.index_fd, .messages = messages_.fd()});
    const std::lock_guard lock(mutex_);
    process.child = std::move(child);
    process.started_at = Clock::now();
  } catch (const Error& error) {
    start_later(process);
    note_failure(true, error.message());
  }
}

/// Whether there is a failure for check() to throw. No worker is started before that.
bool ProcessPool::has_failed() const {
  const std::lock_guard lock(mutex_);
  return !failure_.empty();
}

void ProcessPool::start_due_workers() {
  if (has_failed()) return;
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    const Process& process = processes_[number];
    if (!process.child.exists() && Clock::now() >= process.start_at) start_worker(number);
  }
}

WorkerEnd ProcessPool::end_of(std::uint32_t number, const ChildEnd& end) {
  using Fault = WorkerEnd::Fault;
  const char* const text = ring_.worker(number).error;
  switch (processes_[number].stall.killed_for) {
    case StallKind::sample:
      return {number, Fault::own, fmt::format("made no progress for {} s and was killed", options_.stall_timeout_s)};
    case StallKind::stopped:
      return {number, Fault::none, fmt::format("was stopped for {} s and was killed", options_.stall_timeout_s)};
    case StallKind::none:
      break;
  }
  if (end.kind == ChildEnd::Kind::signal) {
    return {number, is_outside_signal(end.status) ? Fault::outside : Fault::own,
            fmt::format("was ended by signal {} ({})", end.status, ::strsignal(end.status))};
  }
  if (*text != '\0') {
    const bool lacks = end.kind == ChildEnd::Kind::exit && end.status == k_exit_lack_of_resources;
    return {number, lacks ? Fault::none : Fault::own, fmt::format("gave up: {}", text)};
  }
  if (end.kind == ChildEnd::Kind::unknown) {
    return {number, Fault::outside,
            "ended with an unknown status, because this process ignores SIGCHLD or reaps other children"};
  }
  return {number, end.status == 0 ? Fault::outside : Fault::own, fmt::format("ended with code {}", end.status)};
}

void ProcessPool::reap_worker(std::uint32_t number) {
  Process& process = processes_[number];
  ChildEnd ended;
  {
    const std::lock_guard lock(mutex_);
    ended = process.child.wait();
  }
  const WorkerEnd end = end_of(number, ended);
  const WorkerEntry& entry = ring_.worker(number);
  const bool has_started = entry.seen_ns.load() != 0;
  const bool is_fruitless = entry.rows_done.load() == process.rows_at_start;
  ++num_replaced_;  // before its rows are given back: who gets their batch finds it counted
  on_end_(end);
  if (!is_fruitless) {
    process.failures = 0;
    return start_worker(number);
  }
  start_later(process);
  const bool gave_up = ended.kind == ChildEnd::Kind::exit && ended.status != 0;
  if (!has_started || gave_up) {
    note_failure(true, has_started ? end.cause : end.cause + " before it had started");
  } else if (end.fault == WorkerEnd::Fault::own) {
    note_failure(false, end.cause);
  }
}

void ProcessPool::kill_stalled() {
  stall_clock_.look();
  const auto limit_ns = static_cast<std::uint64_t>(options_.stall_timeout_s * 1e9);
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    Process& process = processes_[number];
    if (!process.child.exists() || process.stall.killed_for != StallKind::none) continue;
    process.stall.killed_for = stall_clock_.stalled(ring_.worker(number), process.child.pid(), limit_ns, process.stall);
    if (process.stall.killed_for != StallKind::none) process.child.kill();
  }
}

/// How long to wait for the end of a worker before other work is due.
int ProcessPool::patience_ms() const {
  auto patience = milliseconds(k_look_ms);
  const bool starts_none = has_failed();
  for (const Process& process : processes_) {
    if (process.child.exists()) {
      if (process.child.pidfd() < 0) patience = std::min(patience, milliseconds(k_look_closely_ms));
    } else if (!starts_none) {
      const auto left = std::chrono::ceil<milliseconds>(process.start_at - Clock::now());
      patience = std::clamp(left, milliseconds(1), patience);
    }
  }
  return static_cast<int>(patience.count());
}

void ProcessPool::supervise() {
  for (std::uint32_t number = 0; number < processes_.size(); ++number) start_worker(number);
  all_started_.count_down();
  std::vector<pollfd> watched;
  for (;;) {
    watched.assign(1, {.fd = stop_event_, .events = POLLIN, .revents = 0});
    // poll() ignores negative descriptors.
    for (const Process& process : processes_) {
      watched.push_back({.fd = process.child.pidfd(), .events = POLLIN, .revents = 0});
    }
    if (::poll(watched.data(), watched.size(), patience_ms()) < 0 && errno != EINTR) break;
    if (watched[0].revents != 0) break;
    for (std::uint32_t number = 0; number < processes_.size(); ++number) {
      const ChildProcess& child = processes_[number].child;
      const bool is_to_be_asked = child.exists() && child.pidfd() < 0;
      if (is_to_be_asked ? child.has_ended() : watched[number + 1].revents != 0) reap_worker(number);
    }
    start_due_workers();
    if (options_.stall_timeout_s > 0) kill_stalled();
  }
  end_all();
}

void ProcessPool::end_all() {
  const auto all_end_until = [this](Clock::time_point deadline) {
    for (;;) {
      bool is_left = false;
      for (Process& process : processes_) {
        if (!process.child.exists()) continue;
        if (!process.child.has_ended()) {
          is_left = true;
          continue;
        }
        const std::lock_guard lock(mutex_);
        process.child.wait();
      }
      if (!is_left || Clock::now() >= deadline) return;
      std::this_thread::sleep_for(milliseconds(1));
    }
  };
  all_end_until(Clock::now() + k_patience);
  for (const Process& process : processes_) {
    if (process.child.exists()) process.child.kill();
  }
  all_end_until(Clock::now() + k_last_patience);
  const std::lock_guard lock(mutex_);
  for (Process& process : processes_) process.child.abandon();  // it is blocked by a device that does not answer
}

}  // namespace bale::loader_detail
