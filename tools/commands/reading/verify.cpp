#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/reader/dataset_check.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

/// "SHARD: WHAT (key "K", field F, offset N)".
std::string finding_line(const Damage& damage, const Terminal& terminal) {
  std::string where;
  const auto add = [&](const std::string& part) { where += (where.empty() ? "" : ", ") + part; };
  if (!damage.key.empty()) add(fmt::format("key \"{}\"", excerpt(printed_key(damage.key), k_shown_name)));
  const bool named_already = damage.what.find("field " + damage.field) != std::string::npos;
  if (!damage.field.empty() && !named_already) add("field " + excerpt(printable(damage.field), k_shown_name));
  if (damage.offset) add(fmt::format("offset {}", *damage.offset));
  const std::string what = terminal.with_flags(excerpt(printable(damage.what), k_shown_what));
  std::string line = fmt::format("{}: {}", shown_name(damage.path), what);
  if (!where.empty()) line += fmt::format(" ({})", where);
  return line + '\n';
}

std::string summary_line(const CheckReport& report) {
  const std::string what = fmt::format("{} in {}, {}", plural(report.num_samples, "sample"),
                                       plural(report.num_shards, "shard"), human_bytes(report.num_bytes));
  if (report.num_unchecked_shards > 0) {
    return fmt::format(
        "no damage found in the structure of {}; {} without checksums of the data "
        "(`bale index` makes them)\n",
        what, plural(report.num_unchecked_shards, "shard"));
  }
  return fmt::format("ok: {}, every checksum matches\n", what);
}

/// Of a check that decoded images and found nothing wrong.
std::string decoded_line(const CheckReport& report) {
  if (report.num_without_image == 0) return "every image decodes\n";
  if (report.num_without_image == report.num_samples) return "no sample has an image, so none was decoded\n";
  return fmt::format("every image decodes; {} without an image\n", plural(report.num_without_image, "sample"));
}

/// "PART: ok: ..." or "PART: 2 problems found", one line per dataset.
std::string parts_lines(const CheckReport& report) {
  std::string text;
  for (const CheckReport& part : report.parts) {
    text += shown_name(part.spec) + ": ";
    text += part.findings.empty() ? summary_line(part) : plural(part.findings.size(), "problem") + " found\n";
  }
  return text;
}

void print_leftovers(const CheckReport& report, Terminal& terminal) {
  if (report.leftovers.empty()) return;
  terminal.note(fmt::format("{} of killed runs, which nothing reads (such as {}); `bale index` removes them",
                            plural(report.leftovers.size(), "temporary file"), printable(report.leftovers.front())));
}

/// If the manifest counts the samples, they measure the progress: payload never adds up to the files' bytes.
ProgressCounts by_samples(ProgressCounts counts) {
  if (counts.total_samples != 0) counts.total_bytes = 0;
  return counts;
}

}  // namespace

int run_verify(const VerifyCommand& command, Terminal& terminal) {
  const FreshVersions fresh;
  datasets_at(command.spec, terminal);  // says what is next to them
  const CheckReport report = run_attended(
      "verified", progress_style(command.quiet, command.json_progress), terminal,
      [&](Progress& progress) {
        return check_dataset(command.spec, command.options, progress, [&](const Damage& damage) {
          if (!command.json) terminal.print(finding_line(damage, terminal));
        });
      },
      by_samples);
  show_notices(report.notices, "entry", terminal);
  if (command.json) {
    terminal.print(check_json(report));
  } else if (!command.quiet && !report.parts.empty()) {
    terminal.print(parts_lines(report));
  } else if (!command.quiet && report.findings.empty()) {
    terminal.print(summary_line(report));
  }
  if (command.options.decode && !command.json && !command.quiet && report.findings.empty()) {
    terminal.print(decoded_line(report));
  }
  print_leftovers(report, terminal);
  if (report.findings.empty()) return k_exit_ok;
  terminal.flush();
  terminal.error(fmt::format("{}: {} found", shown_name(command.spec), plural(report.findings.size(), "problem")));
  const bool is_damaged = std::any_of(report.findings.begin(), report.findings.end(),
                                      [](const Damage& one) { return one.code == ErrorCode::damaged; });
  return is_damaged ? k_exit_damage : k_exit_failure;
}

}  // namespace bale::tools
