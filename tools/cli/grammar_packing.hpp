// Options of the commands that write: `pack`, `convert` and `index`.
#pragma once

#include <set>

#include "bale/tools/commands/commands.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then. Adds to `needed` the options that the
/// command requires in ways that CLI11 cannot express.
void declare_pack(PackCommand& command, CLI::App& app, std::set<const CLI::Option*>& needed);
void declare_merge(MergeCommand& command, CLI::App& app);
void declare_index(IndexCommand& command, CLI::App& app);

}  // namespace bale::tools
