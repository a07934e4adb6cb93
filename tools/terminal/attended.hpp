// A run of the library with its progress shown. The first SIGINT or SIGTERM cancels it.
#pragma once

#include <atomic>
#include <utility>

#include "bale/formats/base/watched_run.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

struct AsCounted {
  ProgressCounts operator()(ProgressCounts counts) const { return counts; }
};

/// Calls `work` with a Progress and returns what it returns. `verb` is a past participle, such as "packed"; `shown`
/// says which counts are shown, by those of the Progress.
template <typename Work, typename Shown = AsCounted>
auto run_attended(const char* verb, ProgressStyle style, Terminal& terminal, Work work, Shown shown = {}) {
  std::atomic<bool> is_stopped{false};
  const StopOnSignal stop(is_stopped);
  ProgressLine line(terminal, verb, style);
  auto result = run_watched(std::move(work), [&](const ProgressCounts& counts) {
    line.show(shown(counts));
    return !is_stopped.load();
  });
  line.finish();
  return result;
}

}  // namespace bale::tools
