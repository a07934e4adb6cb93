// `plan`, and `pack --plan`, which packs shards of it.
#include <chrono>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/output_file.hpp"
#include "bale/tools/commands/packing/attended.hpp"
#include "bale/tools/commands/packing/pack_source.hpp"
#include "bale/tools/commands/packing/pack_summary.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

std::string summary_text(const PartReport& report, double seconds) {
  std::string text =
      fmt::format("{}: {} in {}, {}\n{}", shown_name(report.destination), plural(report.num_samples, "sample"),
                  plural(report.num_shards, "shard"), human_bytes(report.num_bytes), human_seconds(seconds));
  if (report.num_resumed_shards > 0) {
    text += fmt::format(", {} found finished", plural(report.num_resumed_shards, "shard"));
  }
  return text + (report.is_merged ? "; merged already\n" : "; run `bale merge` when all parts are packed\n");
}

}  // namespace

int run_plan(const PackCommand& asked, Terminal& terminal) {
  require_output_file(asked.plan, false);
  ListedSource listed = list_source(asked, terminal);
  PackCommand& command = listed.command;
  RunWarnings warnings(terminal);
  command.options.on_warning = warnings.handler();
  if (command.dry_run) {
    const PackPreview preview = preview_plan(*listed.source, command.options, command.plan);
    print_preview(preview, warnings.lines(), command.json, terminal, listed.source->label_origin());
    return k_exit_ok;
  }
  const PlanReport report = plan_pack(*listed.source, command.options, command.plan);
  if (command.json) {
    terminal.print(
        plan_json(report, {listed.ledger, listed.left_out, warnings.lines(), listed.source->label_origin()}));
  } else if (!command.quiet) {
    terminal.print(labels_text(listed.source->label_origin()) +
                   fmt::format("{}: {} in {}, {} of payload\n", shown_name(command.plan),
                               plural(report.num_samples, "sample"), plural(report.num_shards, "shard"),
                               human_bytes(report.num_bytes)));
  }
  return k_exit_ok;
}

int run_part(const PackCommand& command, Terminal& terminal) {
  if (!command.choice.part && command.choice.shards.empty()) {
    throw Error(ErrorCode::invalid_argument, "--plan needs --part or --shards", {.hint = "see `bale pack --help`"});
  }
  if (command.dry_run) {
    print_preview(preview_part(command.plan, command.choice), {}, command.json, terminal);
    return k_exit_ok;
  }
  const auto start = std::chrono::steady_clock::now();
  const AttendedRun run{
      .verb = "packed", .style = progress_style(command.quiet, command.json_progress), .place = command.plan};
  const PartReport report = run_attended(run, terminal, [&](Progress& progress) {
    return pack_part(command.plan, command.choice, command.options.jobs, progress, command.options.staging_directory);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (command.json) {
    terminal.print(part_json(report, seconds));
  } else if (!command.quiet) {
    terminal.print(summary_text(report, seconds));
  }
  if (report.skipped.empty()) return k_exit_ok;
  terminal.flush();
  list_skipped(report.skipped, terminal);
  terminal.error(fmt::format("{} skipped; the merged dataset will list them", plural(report.skipped.size(), "sample")));
  return k_exit_skipped;
}

}  // namespace bale::tools
