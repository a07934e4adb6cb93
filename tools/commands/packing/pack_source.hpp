// The source of `pack`, `convert` and `plan`: their arguments settled, and the source listed and filtered.
#pragma once

#include <memory>

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

struct ListedSource {
  PackCommand command;  // with places, format and name settled
  std::unique_ptr<Source> source;
  LeftOut left_out;
  NoticeLog ledger;  // of the source, and of what the command asked for without success
};

/// Lists the source, and shows what was ignored and left out. Throws what opening a source throws, and `unsupported` if
/// the command is strict and something was not taken or used.
ListedSource list_source(const PackCommand& asked, Terminal& terminal);

}  // namespace bale::tools
