// Options of the commands that read: `inspect`, `ls`, `cat`, `extract`, `verify`, `diff`, `stats`, `preview` and
// `read`.
#pragma once

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_inspect(InspectCommand& command, CommandModel& app);
void declare_ls(LsCommand& command, CommandModel& app);
void declare_cat(CatCommand& command, CommandModel& app);
void declare_extract(ExtractCommand& command, CommandModel& app);
void declare_verify(VerifyCommand& command, CommandModel& app);
void declare_diff(DiffCommand& command, CommandModel& app);
void declare_stats(StatsCommand& command, CommandModel& app);
void declare_preview(PreviewCommand& command, CommandModel& app);
void declare_read(ReadCommand& command, CommandModel& app);

}  // namespace bale::tools
