#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

std::string difference_line(const Difference& difference) {
  using enum Difference::Kind;
  const std::string key = excerpt(printed_key(difference.key), k_shown_name);
  const std::string field = excerpt(printable(difference.field), k_shown_name);
  const std::string what = excerpt(printable(difference.what), k_shown_what);
  switch (difference.kind) {
    case only_in_a:
      return fmt::format("only in A: {}\n", key);
    case only_in_b:
      return fmt::format("only in B: {}\n", key);
    case label:
      return fmt::format("label of {}: {}\n", key, what);
    case field_only_in_a:
      return fmt::format("field only in A: {}: {}\n", key, field);
    case field_only_in_b:
      return fmt::format("field only in B: {}: {}\n", key, field);
    case bytes:
      return fmt::format("bytes of {}: {}: {}\n", key, field, what);
    case unreadable_in_a:
      return fmt::format("cannot be read in A: {}: {}\n", key, what);
    case unreadable_in_b:
      return fmt::format("cannot be read in B: {}: {}\n", key, what);
  }
  return {};
}

std::string summary_text(const DiffCommand& command, const DiffReport& report) {
  if (report.is_same()) {
    return fmt::format("the same {}{}\n", plural(report.samples_in_a, "sample"),
                       command.options.keys_only ? " by keys and labels" : "");
  }
  std::string text = fmt::format("{} in A, {} in B: {} the same, {} different, {} only in A, {} only in B",
                                 plural(report.samples_in_a, "sample"), human_count(report.samples_in_b),
                                 human_count(report.num_same), human_count(report.num_different),
                                 human_count(report.num_only_in_a), human_count(report.num_only_in_b));
  if (report.num_unreadable > 0) text += fmt::format(", {} cannot be read", human_count(report.num_unreadable));
  text += report.same_classes ? "\n" : "; the classes differ\n";
  return text;
}

}  // namespace

int run_diff(const DiffCommand& asked, Terminal& terminal) {
  DiffCommand command = asked;
  command.source_options.keys_name_files = false;  // keys as they are
  command.source_options.allow_unlabeled = true;
  command.source_options.are_shared = true;
  const std::vector<SourceOptions> options = options_of_each({command.a, command.b}, command.source_options);
  const std::unique_ptr<Source> a = open_announced(command.a, options[0], terminal, command.quiet);
  const std::unique_ptr<Source> b = open_announced(command.b, options[1], terminal, command.quiet);
  const NoticeLog ledger = NoticeLog::of_all({&a->notices(), &b->notices()});
  show_notices(ledger, "path", terminal);
  if (command.strict) require_all_taken(ledger, "path");
  std::uint64_t num_found = 0;
  std::vector<Difference> kept;  // for JSON
  const auto on_difference = [&](const Difference& difference) {
    if (++num_found > command.limit && command.limit != 0) return;
    if (command.json) {
      kept.push_back(difference);
    } else {
      terminal.print(difference_line(difference));
    }
  };
  const DiffReport report =
      run_attended("compared", progress_style(command.quiet, command.json_progress), terminal,
                   [&](Progress& progress) { return diff_sources(*a, *b, command.options, progress, on_difference); });
  if (command.json) {
    terminal.print(diff_json(report, num_found, kept, ledger));
  } else {
    if (command.limit != 0 && num_found > command.limit) {
      terminal.print(
          fmt::format("... and {} more; `bale diff --limit 0` prints all\n", human_count(num_found - command.limit)));
    }
    if (!command.quiet || !report.is_same()) terminal.print(summary_text(command, report));
  }
  return report.is_same() ? k_exit_ok : k_exit_damage;
}

}  // namespace bale::tools
