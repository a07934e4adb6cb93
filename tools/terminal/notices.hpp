// Prints what was not taken or used, and bad images, on standard error, also with --quiet.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "bale/reader/check/notice_lines.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

inline void show_lines(const Lines& lines, Terminal& terminal) {
  for (const std::string& line : lines) terminal.note(line);
}
inline void show_notices(const NoticeLog& notices, const std::string& noun, Terminal& terminal) {
  show_lines(notice_lines(notices, noun, terminal.options()), terminal);
}

// ScanNotice: says on standard error which shard is being scanned while a dataset without indexes is opened, so that
// nobody thinks that the program hangs.
//
// A terminal shows a line that is redrawn. Elsewhere a line is printed after two seconds, and then every five.
// Threads: shower()'s function is called by one thread at a time; the rest is for one thread.

/// "scanning shard 12 of 400; `bale index` makes indexes that last".
std::string scan_sentence(std::size_t number, std::size_t count);

class ScanNotice {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  ScanNotice(Terminal& terminal, bool quiet, Clock clock = std::chrono::steady_clock::now);
  ~ScanNotice() { finish(); }
  ScanNotice(const ScanNotice&) = delete;
  ScanNotice& operator=(const ScanNotice&) = delete;

  /// DatasetOptions::on_scan. Do not call it after the ScanNotice.
  std::function<void(std::size_t, std::size_t)> shower();
  /// Clears the line. Call it when the dataset is open.
  void finish();

 private:
  void show(std::size_t number, std::size_t count);

  Terminal& terminal_;
  const bool quiet_;
  const Clock clock_;
  std::chrono::steady_clock::time_point next_line_;
  bool shown_ = false;
};

}  // namespace bale::tools
