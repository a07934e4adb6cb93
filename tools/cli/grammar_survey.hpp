// Options of the commands that look at every image: `report` and `dedup`.
#pragma once

#include "bale/tools/commands/survey_commands.hpp"

namespace CLI {
class App;
}

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_report(ReportCommand& command, CLI::App& app);
void declare_dedup(DedupCommand& command, CLI::App& app);

}  // namespace bale::tools
