#include "bale/tools/commands/packing/pack_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/table.hpp"
#include "bale/writer/request/report_json.hpp"
#include "bale/writer/request/run_lines.hpp"

namespace bale::tools {
namespace {

std::uint64_t num_skipped(const PackReport& report) {
  std::uint64_t skipped = 0;
  if (report.added) return report.skipped.size();  // the manifest also counts those of earlier versions
  for (const PackReport::Output& output : report.outputs) skipped += output.manifest.num_skipped;
  return std::max<std::uint64_t>(skipped, report.skipped.size());
}

void print_skips(const PackReport& report, Terminal& terminal) {
  show_lines(skipped_lines(report.skipped, terminal.options()), terminal);
  std::string ledgers;
  for (const PackReport::Output& output : report.outputs) {
    if (output.manifest.num_skipped == 0) continue;
    ledgers += (ledgers.empty() ? "" : ", ") + printable(join_path(output.directory, k_ledger_name));
  }
  terminal.error(fmt::format("{} skipped; {} lists them", plural(num_skipped(report), "sample"), ledgers));
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

}  // namespace

RunNotes notes_on(Terminal& terminal, bool quiet) {
  RunNotes notes{.note = [&terminal](const std::string& line) { terminal.note(line); },
                 .warning = [&terminal](const std::string& line) { terminal.error("warning: " + line); },
                 .options = terminal.options()};
  if (!quiet) notes.remark = notes.note;
  return notes;
}

std::string labels_text(const LabelOrigin& labels) {
  if (labels.is_after_path) return fmt::format("labels: {} after the paths\n", label_reading_name(labels.reading));
  if (labels.column.empty() || labels.reading == LabelReading::none) return {};
  const std::string missing =
      labels.num_missing == 0 ? "" : fmt::format("; {} without a label", plural(labels.num_missing, "row"));
  return fmt::format("labels: {} in the column \"{}\"{}\n", label_reading_name(labels.reading),
                     printable(labels.column), missing);
}

void print_preview(const PackPreview& preview, const std::vector<std::string>& warnings, bool json, Terminal& terminal,
                   const LabelOrigin& labels) {
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

int show_packed(const PackOutcome& outcome, const RunRemarks& remarks, SummaryStyle style, Terminal& terminal) {
  const PackReport& report = outcome.report;
  show_lines(replaced_lines(report), terminal);
  if (style.json) {
    terminal.print(pack_json(report, outcome.seconds, remarks, outcome.images));
  } else if (!style.quiet) {
    terminal.print(labels_text(remarks.labels) + summary_text(report, outcome.seconds, style));
  }
  if (!style.quiet) show_lines(added_lines(report), terminal);
  show_lines(unusable_image_lines(outcome.images, terminal.options()), terminal);
  show_lines(kinds_lines(report), terminal);
  if (num_skipped(report) == 0) return k_exit_ok;
  terminal.flush();
  print_skips(report, terminal);
  return k_exit_skipped;
}

}  // namespace bale::tools
