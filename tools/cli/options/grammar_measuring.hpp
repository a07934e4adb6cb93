// Options of the commands that measure: `bench`, `tune` and `doctor`.
#pragma once

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_bench(BenchCommand& command, CommandModel& app);
void declare_tune(TuneCommand& command, CommandModel& app);
void declare_doctor(DoctorCommand& command, CommandModel& app);

}  // namespace bale::tools
