// `remove`, `set` and `rewrite`: changes of a packed dataset.
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/packing/pack_summary.hpp"
#include "bale/tools/commands/where_option.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"

namespace bale::tools {

int run_change(const ChangeCommand& command, Terminal& terminal) {
  const ChangeOutcome outcome = with_column(command.request.removal.where, terminal, [&] {
    return run_attended("searched", progress_style(command.quiet, false), terminal,
                        [&](Progress& progress) { return change(command.request, progress); });
  });
  if (!command.quiet) show_lines(change_lines(outcome), terminal);
  if (command.json) terminal.print(change_json(outcome));
  return k_exit_ok;
}

}  // namespace bale::tools
