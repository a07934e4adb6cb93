// Options of the commands that look at every image: `report` and `dedup`.
#pragma once

#include "bale/tools/commands/survey/survey_commands.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_report(ReportCommand& command, CommandModel& app);
void declare_dedup(DedupCommand& command, CommandModel& app);

}  // namespace bale::tools
