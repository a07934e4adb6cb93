// `pack`, `plan`, `merge`, and what changes a packed dataset: `add`, `remove`, `set` and `rewrite`.
#include <chrono>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/packing/pack_summary.hpp"
#include "bale/tools/commands/where_option.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/writer/request/merge_request.hpp"
#include "bale/writer/request/report_json.hpp"
#include "bale/writer/request/run_lines.hpp"

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

ListedSource list_shown(const PackCommand& command, const RunNotes& notes, Terminal& terminal) {
  const PackRequest& request = command.request;
  parse_where({.text = request.where}, terminal);  // shows where it is wrong
  if (!command.quiet)
    terminal.set_status("listing " + printable(request.source.empty() ? request.files_from : request.source));
  ListedSource listed = with_column(request.where, terminal, [&] { return list_source(request, notes); });
  terminal.clear_status();
  return listed;
}

int run_pack(const PackCommand& command, Terminal& terminal) {
  if (!command.plan.empty()) return run_part(command, terminal);
  const RunNotes notes = notes_on(terminal, command.quiet);
  ListedSource listed = list_shown(command, notes, terminal);
  if (command.request.dry_run) {
    Progress progress;
    const PackPreview preview = preview_listed(listed, {}, notes, progress);
    print_preview(preview, listed.remarks.warnings, command.json, terminal, listed.remarks.labels);
    return k_exit_ok;
  }
  const PackOutcome outcome = run_attended("packed", progress_style(command.quiet, command.json_progress), terminal,
                                           [&](Progress& progress) { return pack_listed(listed, notes, progress); });
  return show_packed(
      outcome, listed.remarks,
      {.json = command.json, .quiet = command.quiet, .checked_images = listed.request.options.check_images}, terminal);
}

int run_plan(const PackCommand& command, Terminal& terminal) {
  require_output_file(command.plan, false);
  const RunNotes notes = notes_on(terminal, command.quiet);
  ListedSource listed = list_shown(command, notes, terminal);
  const RunRemarks& remarks = listed.remarks;
  if (command.request.dry_run) {
    Progress progress;
    const PackPreview preview = preview_listed(listed, command.plan, notes, progress);
    print_preview(preview, remarks.warnings, command.json, terminal, remarks.labels);
    return k_exit_ok;
  }
  const PlanReport report = plan_listed(listed, command.plan, notes);
  if (command.json) {
    terminal.print(plan_json(report, remarks));
  } else if (!command.quiet) {
    terminal.print(labels_text(remarks.labels) + fmt::format("{}: {} in {}, {} of payload\n", shown_name(command.plan),
                                                             plural(report.num_samples, "sample"),
                                                             plural(report.num_shards, "shard"),
                                                             human_bytes(report.num_bytes)));
  }
  return k_exit_ok;
}

int run_part(const PackCommand& command, Terminal& terminal) {
  if (!command.choice.part && command.choice.shards.empty()) {
    throw Error(ErrorCode::invalid_argument, "--plan needs --part or --shards", {.hint = "see `bale pack --help`"});
  }
  if (command.request.dry_run) {
    print_preview(preview_part(command.plan, command.choice), {}, command.json, terminal);
    return k_exit_ok;
  }
  const auto start = std::chrono::steady_clock::now();
  const PartReport report =
      run_attended("packed", progress_style(command.quiet, command.json_progress), terminal, [&](Progress& progress) {
        return pack_part_of(command.plan, command.choice, command.request.options, progress);
      });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (command.json) {
    terminal.print(part_json(report, seconds));
  } else if (!command.quiet) {
    terminal.print(summary_text(report, seconds));
  }
  if (report.skipped.empty()) return k_exit_ok;
  terminal.flush();
  show_lines(skipped_lines(report.skipped, terminal.options()), terminal);
  terminal.error(fmt::format("{} skipped; the merged dataset will list them", plural(report.skipped.size(), "sample")));
  return k_exit_skipped;
}

int run_merge(const MergeCommand& command, Terminal& terminal) {
  const RunNotes notes = notes_on(terminal, command.quiet);
  const MergeOutcome outcome =
      run_attended("merged", progress_style(command.quiet, command.json_progress), terminal,
                   [&](Progress& progress) { return merge(command.request, notes, progress); });
  if (!outcome.report.datasets) {
    if (command.json) terminal.print(missing_json(outcome.report));
    show_lines(missing_lines(outcome.report, command.request.sources.front()), terminal);
    terminal.flush();
    require_complete(outcome.report);
  }
  RunRemarks remarks;
  remarks.warnings = outcome.warnings;
  return show_packed(packed_of(outcome), remarks, {.json = command.json, .quiet = command.quiet}, terminal);
}

int run_change(const ChangeCommand& command, Terminal& terminal) {
  ChangeRequest request = command.request;
  for (std::string& key : request.removal.keys) key = read_key(key);  // as `bale ls` prints it
  const ChangeOutcome outcome = with_column(request.removal.where, terminal, [&] {
    return run_attended("searched", progress_style(command.quiet, false), terminal,
                        [&](Progress& progress) { return change(request, progress); });
  });
  if (!command.quiet) show_lines(change_lines(outcome), terminal);
  if (command.json) terminal.print(change_json(outcome));
  return k_exit_ok;
}

}  // namespace bale::tools
