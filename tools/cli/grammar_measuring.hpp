// Options of the commands that measure: `bench`, `tune` and `doctor`.
#pragma once

#include "bale/tools/commands/commands.hpp"

namespace CLI {
class App;
}

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_bench(BenchCommand& command, CLI::App& app);
void declare_tune(TuneCommand& command, CLI::App& app);
void declare_doctor(DoctorCommand& command, CLI::App& app);

}  // namespace bale::tools
