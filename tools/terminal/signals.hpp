// Exit codes, signals, and standard descriptors that are closed.
#pragma once

#include <atomic>

namespace bale::tools {

// Those of errors are in formats/base/error_code.hpp.
inline constexpr int k_exit_ok = 0;
inline constexpr int k_exit_damage = 3;
inline constexpr int k_exit_skipped = 4;
inline constexpr int k_exit_output_closed = 141;  // 128 + SIGPIPE, as a shell reports it

/// Call once, at the start of main. Opens closed standard descriptors (a data file must never become descriptor 1).
/// Ignores SIGPIPE and SIGXFSZ, so that the write fails instead of ending the process.
void prepare_process();

/// While an object exists, the first SIGINT or SIGTERM sets the flag, and the second ends the process at once with exit
/// code 130, after a line on standard error. Only one object may exist at a time.
class StopOnSignal {
 public:
  explicit StopOnSignal(std::atomic<bool>& stop);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

}  // namespace bale::tools
