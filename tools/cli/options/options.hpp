// Options of each command. `command` is filled when the command line is parsed; it must still exist then.
#pragma once

#include <string>
#include <vector>

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/survey/survey_commands.hpp"
#include "bale/tools/commands/where_option.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

// Options that several commands have, in addition to those of option_table.hpp. The values that they fill must exist
// when the command line is parsed.

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

void declare_pack(PackCommand& command, CommandModel& app);
void declare_add(PackCommand& command, CommandModel& app);
void declare_remove(ChangeCommand& command, CommandModel& app);
void declare_rewrite(ChangeCommand& command, CommandModel& app);
void declare_set(ChangeCommand& command, CommandModel& app);
void declare_convert(PackCommand& command, CommandModel& app);
void declare_plan(PackCommand& command, CommandModel& app);
void declare_merge(MergeCommand& command, CommandModel& app);
void declare_index(IndexCommand& command, CommandModel& app);

void declare_inspect(InspectCommand& command, CommandModel& app);
void declare_log(LogCommand& command, CommandModel& app);
void declare_ls(LsCommand& command, CommandModel& app);
void declare_cat(CatCommand& command, CommandModel& app);
void declare_extract(ExtractCommand& command, CommandModel& app);
void declare_verify(VerifyCommand& command, CommandModel& app);
void declare_diff(DiffCommand& command, CommandModel& app);
void declare_stats(StatsCommand& command, CommandModel& app);
void declare_preview(PreviewCommand& command, CommandModel& app);
void declare_read(ReadCommand& command, CommandModel& app);

void declare_report(ReportCommand& command, CommandModel& app);
void declare_dedup(DedupCommand& command, CommandModel& app);

void declare_bench(BenchCommand& command, CommandModel& app);
void declare_tune(TuneCommand& command, CommandModel& app);
void declare_doctor(DoctorCommand& command, CommandModel& app);

void declare_cache(CacheCommand& command, CommandModel& app);

}  // namespace bale::tools
