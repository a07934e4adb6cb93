// A run of `pack` or `merge` with its progress shown. A signal stops it, and the error says how it continues.
#pragma once

#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/progress.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

struct AttendedRun {
  const char* verb;  // past participle: "packed"
  ProgressStyle style;
  std::string place;  // destination or plan
};

/// The error, with how the run continues if it was stopped or the disk is full: as the library says, else by itself.
Error with_way_on(const Error& error, const AttendedRun& run, const Progress& progress);

/// Calls `work` with a Progress and returns what it returns.
template <typename Work>
auto run_attended(const AttendedRun& run, Terminal& terminal, const Work& work) {
  Progress progress;
  try {
    const StopOnSignal stop(progress.stop);
    ProgressDisplay display(
        terminal, run.verb, [&] { return counts_of(progress); }, run.style);
    auto report = work(progress);
    display.finish();
    return report;
  } catch (const Error& error) {
    throw with_way_on(error, run, progress);
  }
}

}  // namespace bale::tools
