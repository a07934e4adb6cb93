#include "bale/formats/base/error.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/packing/pack_summary.hpp"
#include "bale/tools/terminal/progress.hpp"

namespace bale::tools {

ListedSource list_shown(const PackCommand& command, const RunNotes& notes, Terminal& terminal) {
  const PackRequest& request = command.request;
  parse_where({.text = request.where}, terminal);  // shows where it is wrong
  if (!command.quiet)
    terminal.set_status("listing " + printable(request.source.empty() ? request.files_from : request.source));
  ListedSource listed = with_column(request.where, terminal, [&] { return list_source(request, notes); });
  terminal.clear_status();
  return listed;
}

int run_pack(const PackCommand& command, Terminal& terminal) {
  if (!command.plan.empty()) return run_part(command, terminal);
  const RunNotes notes = notes_on(terminal, command.quiet);
  ListedSource listed = list_shown(command, notes, terminal);
  if (command.request.dry_run) {
    Progress progress;
    const PackPreview preview = preview_listed(listed, {}, notes, progress);
    print_preview(preview, listed.remarks.warnings, command.json, terminal, listed.remarks.labels);
    return k_exit_ok;
  }
  const PackOutcome outcome = run_attended("packed", progress_style(command.quiet, command.json_progress), terminal,
                                           [&](Progress& progress) { return pack_listed(listed, notes, progress); });
  return show_packed(
      outcome, listed.remarks,
      {.json = command.json, .quiet = command.quiet, .checked_images = listed.request.options.check_images}, terminal);
}

}  // namespace bale::tools
