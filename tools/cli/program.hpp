// The program as a whole: what its main() does.
#pragma once

namespace bale::tools {

/// Prepares the process (signals, standard descriptors, the limit of open files), runs the command line and returns the
/// exit code.
int run_program(int argc, const char* const* argv);

}  // namespace bale::tools
