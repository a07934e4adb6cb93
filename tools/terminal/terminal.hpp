// Terminal: standard output and standard error of one run of the program.
//
// Output is buffered, and every failed write is an error, so that a full disk is never reported as success.
// Diagnostics are whole lines. A status line (progress) is cleared before output and diagnostics are printed.
// Threads: status, warnings and output may come from different threads; output from one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "bale/formats/base/options/option_names.hpp"

namespace bale::tools {

// A printed difference or finding is one line: longer names and texts are cut. --json prints all of them.
inline constexpr std::size_t k_shown_name = 256;
inline constexpr std::size_t k_shown_what = 1024;

/// Thrown if the reader of standard output has gone away (`bale ls | head`). The run then ends without a message.
struct OutputClosed {};

class Terminal {
 public:
  /// Descriptors are borrowed.
  Terminal(int out_fd, int err_fd);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Appends to standard output. Throws `Error` (io) or OutputClosed if a write fails.
  void print(std::string_view text);
  /// Whether there is standard output of this run already.
  bool has_printed() const { return has_printed_; }
  /// Writes what print() buffered. The last call of a successful run.
  void flush();
  /// Discards what print() buffered.
  void discard();

  /// The options of this run's command, for messages of the libraries.
  void set_options(OptionNames options) { options_ = std::move(options); }
  const OptionNames& options() const { return options_; }
  std::string with_flags(std::string_view message) const { return options_.shown(message); }

  /// Prints an error as "bale: LINE" on standard error. Never fails.
  void error(std::string_view line);
  /// Prints a note as LINE on standard error. Never fails.
  void note(std::string_view line);

  bool out_is_terminal() const { return out_is_terminal_; }
  bool err_is_terminal() const { return err_is_terminal_; }
  /// Current columns of the terminal on standard output (or error); 80 if it is not a terminal.
  unsigned out_width() const;
  unsigned err_width() const;

  /// Redraws the status line. Does nothing if standard error is not a terminal.
  void set_status(std::string_view line);
  void clear_status();
  /// A function for measurements that shows what they are at; an empty text ends that. Does nothing if `quiet`.
  std::function<void(const std::string&)> status_shower(bool quiet);

 private:
  void flush_locked();
  void clear_status_locked();
  void write_err(std::string_view text);
  void write_err_line(std::string text);

  OptionNames options_{.names = {}, .are_flags = true};
  int out_fd_;
  int err_fd_;
  bool out_is_terminal_;
  bool err_is_terminal_;
  bool status_shown_ = false;
  std::string buffer_;
  bool has_printed_ = false;
  std::mutex mutex_;
};

}  // namespace bale::tools
