// The program: grammar, dispatch, exit codes.
#pragma once

#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

/// Runs one command line and returns its exit code; errors are told on `terminal`, nothing is thrown.
/// Changes no process-wide state but the signal handlers while `pack` and the like run.
int bale_main(int argc, const char* const* argv, Terminal& terminal);

}  // namespace bale::tools
