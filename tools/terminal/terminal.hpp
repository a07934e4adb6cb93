// Terminal: standard output and standard error of one run of the program.
//
// Output is buffered and every failed write is an error, so that a full disk never passes for success.
// Diagnostics are whole lines. A status line (progress) shares the terminal with both and gives way to them.
// Threads: status, warnings and output may come from different threads; output from one at a time.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bale::tools {

/// The reader of our output went away (`bale ls | head`): the run ends quietly.
struct OutputClosed {};

class Terminal {
 public:
  /// Descriptors are borrowed.
  Terminal(int out_fd, int err_fd);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Appends to standard output. Throws `Error` (io) or OutputClosed when a write fails.
  void print(std::string_view text);
  /// Writes what print() kept; the last call of a successful run.
  void flush();
  /// Forgets what print() kept.
  void discard();

  /// The long options of this run's command: "--on-error".
  void set_flags(std::vector<std::string> flags) { flags_ = std::move(flags); }
  /// A message of a library, which names options as its callers know them, in backticks: `on_error` becomes --on-error if
  /// the command has it.
  std::string with_flags(std::string_view message) const;

  /// What ends a run without success: "bale: LINE" on standard error, once. Never fails.
  void error(std::string_view line);
  /// What is worth knowing on the way: LINE on standard error. Never fails.
  void note(std::string_view line);

  bool out_is_terminal() const { return out_is_terminal_; }
  bool err_is_terminal() const { return err_is_terminal_; }
  /// Columns of the terminal on standard output (or error), as they are now; 80 where there is none.
  unsigned out_width() const;
  unsigned err_width() const;

  /// Redraws the status line; only on a terminal.
  void set_status(std::string_view line);
  void clear_status();

 private:
  void flush_locked();
  void clear_status_locked();
  void write_err(std::string_view text);
  void write_err_line(std::string text);

  std::vector<std::string> flags_;
  int out_fd_;
  int err_fd_;
  bool out_is_terminal_;
  bool err_is_terminal_;
  bool status_shown_ = false;
  std::string buffer_;
  std::mutex mutex_;
};

}  // namespace bale::tools
