// Options of each command. `command` is filled when the command line is parsed; it must still exist then.
#pragma once

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/survey/survey_commands.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

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
