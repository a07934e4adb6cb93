// `merge`: publishes what the parts of a plan packed or what Writers wrote in parts, and joins packed datasets.
#include <sys/stat.h>

#include <chrono>
#include <functional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/packing/attended.hpp"
#include "bale/tools/commands/packing/pack_summary.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/report/text/numbers.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/writer/merge_datasets.hpp"

namespace bale::tools {
namespace {

/// Prints what makes the missing shards, and throws.
[[noreturn]] void refuse_missing(const MergeCommand& command, const MergeReport& report, Terminal& terminal) {
  const std::string plan = shown_name(command.sources.front());
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

/// Prints which Writers have to write, and throws.
[[noreturn]] void refuse_missing_parts(const MergeReport& report, Terminal& terminal) {
  const std::string parts = number_list(report.missing_parts, "-");
  terminal.note(fmt::format("missing of {} parts: {}", report.num_parts, parts));
  terminal.note(
      fmt::format("run their programs again: Writer(part=..., parts={}, resume=True) continues", report.num_parts));
  terminal.flush();
  throw Error(ErrorCode::retryable,
              fmt::format("{} of {} not written: {}", human_count(report.missing_parts.size()),
                          plural(report.num_parts, "part"), parts),
              {.path = report.destination, .hint = "write them, then merge again"});
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

MergeReport merge(const MergeCommand& command, const std::function<void(const std::string&)>& on_warning,
                  Progress& progress) {
  if (!command.output.empty()) {
    return {.datasets = merge_datasets({.sources = command.sources,
                                        .destination = command.output,
                                        .name = command.name,
                                        .link = command.link,
                                        .jobs = command.jobs,
                                        .mode = command.mode,
                                        .on_warning = on_warning},
                                       progress)};
  }
  if (command.sources.size() != 1) {
    throw Error(ErrorCode::invalid_argument, "packed datasets are merged into a new directory",
                {.hint = "name it: bale merge A B -o DST"});
  }
  const std::string& source = command.sources.front();
  if (is_directory(source)) return merge_writer_parts(source, command.parts, command.jobs, progress);
  return merge_parts(source, command.parts, command.jobs, progress);
}

}  // namespace

int run_merge(const MergeCommand& command, Terminal& terminal) {
  const auto start = std::chrono::steady_clock::now();
  RunWarnings warnings(terminal);
  const AttendedRun run{.verb = "merged",
                        .style = progress_style(command.quiet, command.json_progress),
                        .place = command.output.empty() ? command.sources.front() : command.output};
  const MergeReport report =
      run_attended(run, terminal, [&](Progress& progress) { return merge(command, warnings.handler(), progress); });
  if (!report.datasets) {
    if (command.json) terminal.print(missing_json(report));
    if (report.missing_shards.empty()) refuse_missing_parts(report, terminal);
    refuse_missing(command, report, terminal);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RunRemarks remarks;
  remarks.warnings = warnings.lines();
  return show_packed(*report.datasets, seconds, remarks, {.json = command.json, .quiet = command.quiet}, terminal);
}

}  // namespace bale::tools
