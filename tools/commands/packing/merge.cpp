// `merge`: publishes what the parts of a plan packed or what Writers wrote in parts, and joins packed datasets.
#include "bale/writer/request/merge_request.hpp"

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/packing/pack_summary.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/writer/request/report_json.hpp"
#include "bale/writer/request/run_lines.hpp"

namespace bale::tools {

int run_merge(const MergeCommand& command, Terminal& terminal) {
  const RunNotes notes = notes_on(terminal, command.quiet);
  const MergeOutcome outcome =
      run_attended("merged", progress_style(command.quiet, command.json_progress), terminal,
                   [&](Progress& progress) { return merge(command.request, notes, progress); });
  if (!outcome.report.datasets) {
    if (command.json) terminal.print(missing_json(outcome.report));
    show_lines(missing_lines(outcome.report, command.request.sources.front()), terminal);
    terminal.flush();
    require_complete(outcome.report);
  }
  RunRemarks remarks;
  remarks.warnings = outcome.warnings;
  return show_packed(packed_of(outcome), remarks, {.json = command.json, .quiet = command.quiet}, terminal);
}

}  // namespace bale::tools
