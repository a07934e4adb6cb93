// Options of the commands that write: `pack`, `convert` and `index`.
#pragma once

#include <set>

#include "bale/tools/commands/commands.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bale::tools {

/// `command` is filled when the command line is parsed; it outlives `app`. Adds to `needed` what the command requires in
/// more ways than CLI11 can say.
void declare_pack(PackCommand& command, CLI::App& app, std::set<const CLI::Option*>& needed);
void declare_index(IndexCommand& command, CLI::App& app);

}  // namespace bale::tools
