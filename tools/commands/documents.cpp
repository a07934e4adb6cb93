// `bale man` and `bale completion`.
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/help/command_model.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

int run_completion(const CompletionCommand& command, const CommandModel& program, Terminal& terminal) {
  terminal.print(completion_script(program, command.shell));
  return 0;
}

int run_man(const CommandModel& program, Terminal& terminal) {
  terminal.print(man_page(program));
  return 0;
}

}  // namespace bale::tools
