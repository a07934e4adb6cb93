// Options that several commands have, in addition to those of option_table.hpp. The values that they fill must exist
// when the command line is parsed.
#pragma once

#include <string>
#include <vector>

#include "bale/tools/commands/where_option.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

inline constexpr const char* k_spec_text =
    "Packed dataset: a directory with a manifest.json, or shard files as a path, a glob ('dir/*'), braces "
    "('x-{000000..000009}.EXT') or several joined by '::'";

/// A required positional argument.
OptionModel& add_positional(CommandModel& app, const std::string& name, std::string& value, const std::string& text);
/// The rest of the arguments, at least one.
OptionModel& add_positional(CommandModel& app, const std::string& name, std::vector<std::string>& values,
                            const std::string& text);

void add_spec(CommandModel& app, std::string& spec);
/// --key and --class, globs.
void add_where_globs(CommandModel& app, WhereOption& where);
void add_json(CommandModel& app, bool& json, const std::string& text = "Print JSON instead of text");
void add_quiet(CommandModel& app, bool& quiet,
               const std::string& text = "No progress and no summary; warnings and errors only");
/// Of a command with --quiet, which --json-progress excludes.
void add_json_progress(CommandModel& app, bool& json_progress);

/// --cache-dir and --cache-limit, for commands that may read remote files: BALE_CACHE_DIR and BALE_CACHE_LIMIT of this
/// run and of the processes that it starts.
void add_cache_options(CommandModel& app);

/// The options that texts of the libraries name in backticks become flags of the command. Call it when all are
/// declared.
void show_flags(CommandModel& app);

}  // namespace bale::tools
