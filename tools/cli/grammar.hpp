// The grammar of the command line.
#pragma once

#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

/// All commands with their options. Each call makes values of its own, which the options fill and `run` uses.
CommandModel bale_grammar();

}  // namespace bale::tools
