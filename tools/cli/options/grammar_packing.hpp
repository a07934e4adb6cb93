// Options of the commands that write: `pack`, `convert`, `plan`, `merge` and `index`.
#pragma once

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_pack(PackCommand& command, CommandModel& app);
void declare_convert(PackCommand& command, CommandModel& app);
void declare_plan(PackCommand& command, CommandModel& app);
void declare_merge(MergeCommand& command, CommandModel& app);
void declare_index(IndexCommand& command, CommandModel& app);

}  // namespace bale::tools
