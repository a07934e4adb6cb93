// The program: its command line, dispatch, exit codes.
#pragma once

#include <span>

#include "bale/tools/help/command_model.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

/// All commands with their options. Each call makes values of its own, which the options fill and `run` uses.
CommandModel command_line();
/// As command_line(), but only commands that are among the words of a command line have options and can run: to make
/// those of all commands takes longer than what many commands do.
CommandModel command_line(std::span<const char* const> words);

/// Runs one command line and returns its exit code. Reports errors on `terminal` and throws nothing.
/// Changes no process-wide state except the signal handlers while a command such as `pack` runs.
int bale_main(int argc, const char* const* argv, Terminal& terminal);

/// What main() does: prepares the process (signals, standard descriptors, the limit of open files), runs the command
/// line and returns the exit code.
int run_program(int argc, const char* const* argv);

}  // namespace bale::tools
