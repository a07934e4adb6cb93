#include "bale/tools/terminal/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"

namespace bale::tools {
namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{64} << 10;
constexpr std::size_t k_longest_line = 8192;  // on standard error, however long the names in it are

/// Writes everything. Waits if the file does not block, as another program may have set it. Returns false, with errno
/// set, on failure.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0) {
      if (errno == EAGAIN) {
        pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
        if (::poll(&ready, 1, -1) >= 0) continue;
      }
      if (errno == EINTR) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

unsigned width_of(int fd) {
  constexpr unsigned k_default_width = 80;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return k_default_width;
  return size.ws_col;
}

}  // namespace

Terminal::Terminal(int out_fd, int err_fd)
    : out_fd_(out_fd),
      err_fd_(err_fd),
      out_is_terminal_(::isatty(out_fd) == 1),
      err_is_terminal_(::isatty(err_fd) == 1) {}

unsigned Terminal::out_width() const { return width_of(out_fd_); }
unsigned Terminal::err_width() const { return width_of(err_fd_); }

std::function<void(const std::string&)> Terminal::status_shower(bool quiet) {
  return [this, quiet](const std::string& text) {
    if (quiet) return;
    text.empty() ? clear_status() : set_status(text);
  };
}

void Terminal::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  buffer_ += text;
  has_printed_ = true;
  if (buffer_.size() >= k_buffer_bytes || (out_is_terminal_ && text.ends_with('\n'))) flush_locked();
}

void Terminal::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void Terminal::discard() {
  const std::lock_guard lock(mutex_);
  buffer_.clear();
}

void Terminal::flush_locked() {
  if (buffer_.empty()) return;
  if (out_is_terminal_) clear_status_locked();
  const bool written = write_all(out_fd_, buffer_);
  const int error = errno;
  buffer_.clear();
  if (written) return;
  if (error == EPIPE) throw OutputClosed{};
  throw Error(ErrorCode::io, "cannot write", {.path = "standard output", .system_error = error});
}

void Terminal::write_err(std::string_view text) {
  // A failure cannot be reported anywhere.
  static_cast<void>(write_all(err_fd_, text));
}

void Terminal::write_err_line(std::string text) {
  text = excerpt(text, k_longest_line);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text += '\n';
  const std::lock_guard lock(mutex_);
  clear_status_locked();
  write_err(text);
}

void Terminal::error(std::string_view line) { write_err_line(fmt::format("bale: {}", line)); }

void Terminal::note(std::string_view line) { write_err_line(std::string(line)); }

void Terminal::set_status(std::string_view line) {
  if (!err_is_terminal_) return;
  const std::lock_guard lock(mutex_);
  // "\r", the line, erase to the end of the line (ECMA-48 EL). Erasing first would flicker.
  write_err(fmt::format("\r{}\x1b[K", line));
  status_shown_ = true;
}

void Terminal::clear_status() {
  const std::lock_guard lock(mutex_);
  clear_status_locked();
}

void Terminal::clear_status_locked() {
  if (!status_shown_) return;
  write_err("\r\x1b[K");
  status_shown_ = false;
}

}  // namespace bale::tools
