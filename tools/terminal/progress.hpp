// Progress: a redrawn line on a terminal, plain lines elsewhere, JSON for programs; always on standard error.
//
// The functions that make the texts are pure.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "bale/formats/base/watched_run.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

struct ProgressRates {
  double samples_per_second = 0;
  double bytes_per_second = 0;
};

/// Rates smoothed over the last few seconds.
class RateMeter {
 public:
  /// `now`: seconds of a monotonic clock.
  void update(double now, const ProgressCounts& counts);
  const ProgressRates& rates() const { return rates_; }

 private:
  bool started_ = false;
  bool measured_ = false;
  double time_ = 0;
  ProgressCounts counts_{};
  ProgressRates rates_{};
};

/// One line without its end: {"progress": {...}}. A total of 0 is unknown.
std::string progress_json(const ProgressCounts& counts);

/// Share of the work that is done, 0..1: by bytes if their total is known, else by samples, else by shards.
double progress_fraction(const ProgressCounts& counts);

/// "[#####-----]  46%  5,730/12,500  8,012 img/s  870 MB/s  ETA 0:07  3/7 shards". Parts are dropped from the end until
/// it fits in `width` columns.
std::string progress_bar(const ProgressCounts& counts, const ProgressRates& rates, unsigned width);

/// "packed 5,730 of 12,500 samples (46%), 8,012 img/s, 870 MB/s, ETA 0:07".
std::string progress_sentence(const std::string& verb, const ProgressCounts& counts, const ProgressRates& rates);

enum class ProgressStyle { text, json, none };
inline ProgressStyle progress_style(bool quiet, bool json = false) {
  if (quiet) return ProgressStyle::none;
  return json ? ProgressStyle::json : ProgressStyle::text;
}

/// Shows the counts that it is given, often or seldom, as often as a user reads them.
class ProgressLine {
 public:
  /// `verb` is a past participle, such as "packed".
  ProgressLine(Terminal& terminal, std::string verb, ProgressStyle style);
  ~ProgressLine() { terminal_.clear_status(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const ProgressCounts& counts);
  /// Call when the work is complete and its last counts were shown. Prints a last line if lines were printed before.
  /// Without this call (the work failed) the display ends without a message.
  void finish();

 private:
  Terminal& terminal_;
  std::string verb_;
  ProgressStyle style_;
  bool printed_ = false;          // any line
  bool is_last_printed_ = false;  // the last counts
  double next_ = 0;               // time of the next line or object
  ProgressCounts counts_{};
  RateMeter meter_{};
};

struct AsCounted {
  ProgressCounts operator()(ProgressCounts counts) const { return counts; }
};

/// A run of the library with its progress shown; the first SIGINT or SIGTERM cancels it. Calls `work` with a Progress
/// and returns what it returns. `verb` is a past participle, such as "packed"; `shown`
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
