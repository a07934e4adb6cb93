// Options of the commands that read: `inspect`, `ls`, `cat`, `extract`, `verify`, `diff`, `stats`, `preview` and `read`.
#pragma once

#include "bale/tools/commands/commands.hpp"

namespace CLI {
class App;
}

namespace bale::tools {

/// `command` is filled when the command line is parsed; it must still exist then.
void declare_inspect(InspectCommand& command, CLI::App& app);
void declare_ls(LsCommand& command, CLI::App& app);
void declare_cat(CatCommand& command, CLI::App& app);
void declare_extract(ExtractCommand& command, CLI::App& app);
void declare_verify(VerifyCommand& command, CLI::App& app);
void declare_diff(DiffCommand& command, CLI::App& app);
void declare_stats(StatsCommand& command, CLI::App& app);
void declare_preview(PreviewCommand& command, CLI::App& app);
void declare_read(ReadCommand& command, CLI::App& app);

}  // namespace bale::tools
