#include "bale/tools/terminal/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

#include "bale/formats/base/storage.hpp"

namespace bale::tools {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
static_assert(std::atomic<std::atomic<bool>*>::is_always_lock_free, "a signal handler reads it");

std::atomic<std::atomic<bool>*> stop_flag{nullptr};
constexpr std::array<int, 2> k_stop_signals{SIGINT, SIGTERM};
std::array<struct sigaction, 2> previous_actions{};

constexpr std::string_view k_ended =
    "\nbale: interrupted again, so ended at once; what was finished stays: run the same command again, which goes "
    "on or says how\n";

extern "C" void on_stop_signal(int) {
  std::atomic<bool>* flag = stop_flag.load();
  if (flag == nullptr || flag->exchange(true)) {
    // The line of the progress has no end yet. Nothing helps if this cannot be written.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, k_ended.data(), k_ended.size());
    ::_exit(k_exit_interrupted);
  }
  interrupt_remote_reads();
}

}  // namespace

void prepare_process() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // Opened for the wrong direction, so that using the descriptor stays an error. open() takes the lowest free number.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) ::_exit(k_exit_failure);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

StopOnSignal::StopOnSignal(std::atomic<bool>& stop) {
  stop_flag.store(&stop);
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < k_stop_signals.size(); ++i) {
    ::sigaction(k_stop_signals[i], &action, &previous_actions[i]);
    // If the process was started with the signal ignored (nohup, a background job of a script), it stays ignored.
    if (previous_actions[i].sa_handler == SIG_IGN) ::sigaction(k_stop_signals[i], &previous_actions[i], nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  for (std::size_t i = 0; i < k_stop_signals.size(); ++i) ::sigaction(k_stop_signals[i], &previous_actions[i], nullptr);
  stop_flag.store(nullptr);
}

}  // namespace bale::tools
