#include <chrono>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/error_reason.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/pack_source.hpp"
#include "bale/tools/commands/pack_summary.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

/// Packs and shows progress. A signal stops the run.
PackReport pack_attended(const PackCommand& command, const Source& source, Terminal& terminal) {
  Progress progress;
  try {
    const StopOnSignal stop(progress.stop);
    ProgressDisplay display(
        terminal, "packed", [&] { return counts_of(progress); }, progress_style(command.quiet, command.json_progress));
    PackReport report = pack(source, command.options, progress);
    display.finish();
    return report;
  } catch (const Error& error) {
    if (error.context().hint == k_no_space_hint) {
      ErrorContext context = error.context();
      context.hint = "free some space, then run the same command with `resume` to go on";
      throw Error(error.code(), error.message(), std::move(context));
    }
    if (error.code() != ErrorCode::interrupted) throw;
    const std::string done = fmt::format("interrupted with {} of {} written", human_count(progress.shards),
                                         plural(progress.total_shards, "shard"));
    throw Error(error.code(), done,
                {.path = command.options.destination, .hint = "run the same command with `resume` to go on"});
  }
}

}  // namespace

int run_pack(const PackCommand& asked, Terminal& terminal) {
  if (!asked.plan.empty()) return run_part(asked, terminal);
  const auto start = std::chrono::steady_clock::now();
  const ListedSource listed = list_source(asked, terminal);
  const PackCommand& command = listed.command;
  if (command.dry_run) {
    print_preview(preview_pack(*listed.source, command.options), command.json, terminal, listed.source->label_origin());
    return k_exit_ok;
  }
  const PackReport report = pack_attended(command, *listed.source, terminal);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return show_packed(report, seconds, listed.source->notices(), listed.left_out,
                     {.json = command.json, .quiet = command.quiet}, terminal, listed.source->label_origin());
}

}  // namespace bale::tools
