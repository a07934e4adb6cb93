#include "bale/formats/storage/aws/credentials/credential_sources.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

constexpr std::size_t k_longest_output = std::size_t{1} << 20;
using Deadline = std::chrono::steady_clock::time_point;

[[noreturn]] void fail(std::string_view problem) {
  throw Error(ErrorCode::invalid_argument, fmt::format("AWS credentials from credential_process: {}", problem),
              {.hint = "run the command of the profile's credential_process to see why"});
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

/// Returns the pid. The child starts with no signal blocked or ignored.
pid_t start(std::vector<std::string> arguments, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) fail(fmt::format("the command cannot be started: {}", std::strerror(failed)));
  return pid;
}

/// Reads to the end. Returns false at the deadline or if there is too much.
bool read_output(int fd, Deadline deadline, std::string& output) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0 || output.size() > k_longest_output) return false;
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::min<decltype(left)>(left, 1000)));
    if (ready <= 0) continue;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) output.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

/// Whether the child ended well. True as well if other code of this process took its status.
bool wait_for(pid_t pid) {
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(pid, &status, 0);
  } while (waited < 0 && errno == EINTR);
  return waited < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

std::string output_of_command(const std::string& command, std::chrono::milliseconds time_limit) {
  const Deadline deadline = std::chrono::steady_clock::now() + time_limit;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("create a pipe", "credential_process");
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t pid = start(split_command(command), writing.get());
  writing.close();
  std::string output;
  const bool is_complete = read_output(reading.get(), deadline, output);
  if (!is_complete) ::kill(pid, SIGKILL);
  const bool succeeded = wait_for(pid);
  if (!is_complete) fail("the command was stopped: it took too long or printed too much");
  if (!succeeded) fail("the command failed");
  return output;
}

std::vector<std::string> split_command(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    const bool is_escape = c == '\\' && quote != '\'' && at + 1 < command.size() &&
                           (quote == '\0' || command[at + 1] == '"' || command[at + 1] == '\\');
    if (is_escape) {
      words.back() += command[++at];
    } else if (quote != '\0' ? c == quote : c == '"' || c == '\'') {
      quote = quote == '\0' ? c : '\0';
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') fail("a quote of the command is not closed");
  if (words.empty()) fail("the command is empty");
  return words;
}

}  // namespace bale
