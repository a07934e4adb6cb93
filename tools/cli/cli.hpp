// The program: grammar, dispatch, exit codes.
#pragma once

#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

/// Runs one command line and returns its exit code. Reports errors on `terminal` and throws nothing.
/// Changes no process-wide state except the signal handlers while a command such as `pack` runs.
int bale_main(int argc, const char* const* argv, Terminal& terminal);

}  // namespace bale::tools
