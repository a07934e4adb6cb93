// Options of `bale cache`.
#pragma once

#include "bale/tools/commands/cache.hpp"

namespace CLI {
class App;
}

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_cache(CacheCommand& command, CLI::App& app);

}  // namespace bale::tools
