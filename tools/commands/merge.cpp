// `merge`: publishes what the parts of a plan packed.
#include <chrono>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/pack_summary.hpp"
#include "bale/tools/report/json_output.hpp"
#include "bale/tools/report/number_list.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

/// Prints what makes the missing shards, and throws.
[[noreturn]] void refuse_missing(const MergeCommand& command, const MergeReport& report, Terminal& terminal) {
  const std::string plan = printable(command.plan);
  const std::string shards = number_list(report.missing_shards, "..");
  if (report.num_parts != 0) {
    const std::string parts = number_list(report.missing_parts, "-");
    terminal.note(fmt::format("missing of {} parts: {}", report.num_parts, parts));
    terminal.note(fmt::format("Slurm: sbatch --array={} with: bale pack --plan {} --part $SLURM_ARRAY_TASK_ID/{}",
                              parts, plan, report.num_parts));
  }
  terminal.note(fmt::format("one machine: bale pack --plan {} --shards {}", plan, shards));
  terminal.flush();
  throw Error(ErrorCode::retryable,
              fmt::format("{} of {} not packed: {}", human_count(report.missing_shards.size()),
                          plural(report.num_shards, "shard"), shards),
              {.path = report.destination, .hint = "pack them, then merge again"});
}

}  // namespace

int run_merge(const MergeCommand& command, Terminal& terminal) {
  const auto start = std::chrono::steady_clock::now();
  Progress progress;
  MergeReport report;
  {
    const StopOnSignal stop(progress.stop);
    ProgressDisplay display(
        terminal, "merged", [&] { return counts_of(progress); }, progress_style(command.quiet, command.json_progress));
    report = merge_parts(command.plan, command.parts, command.jobs, progress);
    if (report.datasets) display.finish();
  }
  if (!report.datasets) {
    if (command.json) terminal.print(missing_json(report));
    refuse_missing(command, report, terminal);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return show_packed(*report.datasets, seconds, {}, {}, {.json = command.json, .quiet = command.quiet}, terminal);
}

}  // namespace bale::tools
