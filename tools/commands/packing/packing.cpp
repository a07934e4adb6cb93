// `pack`, `plan`, `merge`, and what changes a packed dataset: `add`, `remove`, `set` and `rewrite`.
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/where_option.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/table.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/request/merge_request.hpp"
#include "bale/writer/request/pack_request.hpp"
#include "bale/writer/request/report_json.hpp"
#include "bale/writer/request/run_lines.hpp"

namespace bale::tools {
namespace {

/// What `pack`, `convert` and `merge` print of what they wrote, and `pack`, `plan` of what they would write.
struct SummaryStyle {
  bool json = false;
  bool quiet = false;
  bool checked_images = false;  // the run decoded all of them
};

/// "12 samples"; empty if none were skipped.
std::string skipped_text(const PackReport& report) {
  if (!report.skipped.empty()) return skipped_count(report.skipped);
  std::uint64_t skipped = 0;    // by the run that a resumed one found finished
  if (report.added) return {};  // the manifest also counts those of earlier versions
  for (const PackReport::Output& output : report.outputs) skipped += output.manifest.num_skipped;
  return skipped == 0 ? std::string() : plural(skipped, "sample");
}

void print_skips(const PackReport& report, Terminal& terminal) {
  show_lines(skipped_lines(report.skipped, terminal.options()), terminal);
  std::string ledgers;
  for (const PackReport::Output& output : report.outputs) {
    if (output.manifest.num_skipped == 0) continue;
    ledgers += (ledgers.empty() ? "" : ", ") + printable(join_path(output.directory, k_ledger_name));
  }
  terminal.error(fmt::format("{} skipped; {} lists them", skipped_text(report), ledgers));
}

std::string summary_text(const PackReport& report, double seconds, SummaryStyle style) {
  std::string text;
  for (const PackReport::Output& output : report.outputs) {
    const Manifest& manifest = output.manifest;
    std::uint64_t bytes = 0;
    for (const ManifestShard& shard : manifest.shards) bytes += shard.bytes;
    text += fmt::format("{}: {}", shown_name(output.directory), plural(manifest.num_samples, "sample"));
    if (!manifest.classes.empty()) text += fmt::format(" of {}", plural(manifest.classes.size(), "class"));
    text += fmt::format(" in {}, {} ({}.{})\n", plural(manifest.shards.size(), "shard"), human_bytes(bytes),
                        manifest.format, manifest.layout);
  }
  text += human_seconds(seconds);
  if (report.num_repaired_shards > 0) {
    text += fmt::format(", {} found {} and written again", plural(report.num_repaired_shards, "shard"),
                        style.checked_images ? "missing, damaged or with unchecked images" : "missing or damaged");
  }
  if (report.num_resumed_shards > 0) {
    text += fmt::format(", {} found finished", plural(report.num_resumed_shards, "shard"));
  } else if (seconds > 0 && report.num_samples > 0) {
    text += fmt::format(", {} img/s, {:.0f} MB/s",
                        human_count(static_cast<std::uint64_t>(static_cast<double>(report.num_samples) / seconds)),
                        static_cast<double>(report.num_bytes) / seconds / 1e6);
  }
  return text + '\n';
}

/// Notes of a request go to standard error.
RunNotes notes_on(Terminal& terminal, bool quiet) {
  RunNotes notes{.note = [&terminal](const std::string& line) { terminal.note(line); },
                 .warning = [&terminal](const std::string& line) { terminal.error("warning: " + line); },
                 .options = terminal.options()};
  if (!quiet) notes.remark = notes.note;
  return notes;
}

/// A line that says what the labels of a table are read as; empty for other sources.
std::string labels_text(const LabelOrigin& labels) {
  if (labels.is_after_path) return fmt::format("labels: {} after the paths\n", label_reading_name(labels.reading));
  if (labels.column.empty() || labels.reading == LabelReading::none) return {};
  const std::string missing =
      labels.num_missing == 0 ? "" : fmt::format("; {} without a label", plural(labels.num_missing, "row"));
  return fmt::format("labels: {} in the column \"{}\"{}\n", label_reading_name(labels.reading),
                     printable(labels.column), missing);
}

void print_preview(const PackPreview& preview, const std::vector<std::string>& warnings, bool json, Terminal& terminal,
                   const LabelOrigin& labels = {}) {
  if (json) {
    terminal.print(preview_json(preview, warnings));
    return;
  }
  TextTable table({Align::left, Align::right, Align::right});
  table.add({"SHARD", "SAMPLES", "PAYLOAD"});
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  for (const PackPreview::ShardRow& row : preview.shards) {
    table.add({printable(row.file), human_count(row.num_samples), human_bytes(row.payload_bytes)});
    samples += row.num_samples;
    bytes += row.payload_bytes;
  }
  terminal.print(table.text());
  terminal.print(labels_text(labels));
  const std::string estimated =
      preview.num_measured == 0 ? "" : fmt::format(" (estimated from {})", plural(preview.num_measured, "sample"));
  terminal.print(fmt::format("{} in {}, {} of payload{}; nothing was written\n", plural(samples, "sample"),
                             plural(preview.shards.size(), "shard"), human_bytes(bytes), estimated));
}

/// Prints what was written and how fast, and what is wrong with it. Returns the exit code.
int show_packed(const PackOutcome& outcome, const RunRemarks& remarks, SummaryStyle style, Terminal& terminal) {
  const PackReport& report = outcome.report;
  show_lines(replaced_lines(report), terminal);
  if (style.json) {
    terminal.print(pack_json(report, outcome.seconds, remarks, outcome.images));
  } else if (!style.quiet) {
    terminal.print(labels_text(remarks.labels) + summary_text(report, outcome.seconds, style));
  }
  if (!style.quiet) {
    show_lines(added_lines(report), terminal);
    show_lines(planes_lines(report), terminal);
  }
  show_lines(unusable_image_lines(outcome.images, terminal.options()), terminal);
  show_lines(undecodable_lines(report), terminal);
  if (skipped_text(report).empty()) return k_exit_ok;
  terminal.flush();
  print_skips(report, terminal);
  return k_exit_skipped;
}

std::string summary_text(const PartReport& report, double seconds) {
  std::string text =
      fmt::format("{}: {} in {}, {}\n{}", shown_name(report.destination), plural(report.num_samples, "sample"),
                  plural(report.num_shards, "shard"), human_bytes(report.num_bytes), human_seconds(seconds));
  if (report.num_resumed_shards > 0) {
    text += fmt::format(", {} found finished", plural(report.num_resumed_shards, "shard"));
  }
  return text + (report.is_merged ? "; merged already\n" : "; run `bale merge` when all parts are packed\n");
}

/// The request of a command, listed; its list is shown.
ListedSource list_shown(const PackCommand& command, const RunNotes& notes, Terminal& terminal) {
  const PackRequest& request = command.request;
  parse_where({.text = request.where}, terminal);  // shows where it is wrong
  if (!command.quiet)
    terminal.set_status("listing " + printable(request.source.empty() ? request.files_from : request.source));
  ListedSource listed = with_column(request.where, terminal, [&] { return list_source(request, notes); });
  terminal.clear_status();
  return listed;
}

}  // namespace

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
  terminal.error(fmt::format("{} skipped; the merged dataset will list them", skipped_count(report.skipped)));
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
