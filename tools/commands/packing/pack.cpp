#include <chrono>

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/packing/attended.hpp"
#include "bale/tools/commands/packing/pack_source.hpp"
#include "bale/tools/commands/packing/pack_summary.hpp"

namespace bale::tools {
int run_pack(const PackCommand& asked, Terminal& terminal) {
  if (!asked.plan.empty()) return run_part(asked, terminal);
  const auto start = std::chrono::steady_clock::now();
  ListedSource listed = list_source(asked, terminal);
  PackCommand& command = listed.command;
  RunWarnings warnings(terminal);
  command.options.on_warning = warnings.handler();
  if (command.dry_run) {
    const PackPreview preview = preview_pack(*listed.source, command.options);
    print_preview(preview, warnings.lines(), command.json, terminal, listed.source->label_origin());
    return k_exit_ok;
  }
  const AttendedRun run{.verb = "packed",
                        .style = progress_style(command.quiet, command.json_progress),
                        .place = command.options.destination};
  const PackReport report =
      run_attended(run, terminal, [&](Progress& progress) { return pack(*listed.source, command.options, progress); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return show_packed(report, seconds, {listed.ledger, listed.left_out, warnings.lines(), listed.source->label_origin()},
                     {.json = command.json,
                      .quiet = command.quiet,
                      .checked_images = command.options.check_images,
                      .max_pixels = command.options.max_pixels},
                     terminal);
}

}  // namespace bale::tools
