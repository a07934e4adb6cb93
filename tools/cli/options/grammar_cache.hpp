// Options of `bale cache`.
#pragma once

#include "bale/tools/commands/cache.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_cache(CacheCommand& command, CommandModel& app);

}  // namespace bale::tools
