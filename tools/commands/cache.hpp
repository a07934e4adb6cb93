// `bale cache`: shows and tends the cache of remote files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

struct CacheCommand {
  std::string action;  // one of cache_actions()
  std::vector<std::string> arguments;
  bool dry_run = false;
  bool json = false;
  bool json_progress = false;
  bool quiet = false;
};

std::vector<std::string_view> cache_actions();

int run_cache(const CacheCommand& command, Terminal& terminal);

}  // namespace bale::tools
