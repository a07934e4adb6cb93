#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/tools/commands/survey/survey_commands.hpp"
#include "bale/tools/report/html/pages.hpp"
#include "bale/tools/report/text/survey_report.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

std::string title_of(const SurveyedSources& sources) { return fmt::format("{}", fmt::join(sources.names, ", ")); }

std::string summary_text(const SurveyReport& report) {
  const SurveySummary& summary = report.summary;
  std::string text = fmt::format("{}, {}, {}\n", plural(summary.all.num_images, "image"),
                                 plural(report.survey.classes.size(), "class"), human_bytes(summary.all.bytes));
  for (const Finding& finding : findings_of(report)) text += printable(finding.text) + '\n';
  return text;
}

}  // namespace

int run_report(const ReportCommand& command, Terminal& terminal) {
  require_output_file(command.output, command.force);
  const SurveyedSources sources = open_surveyed(command.sources, command.survey, terminal);
  NoticeLog ledger = print_notices(sources, command.survey, terminal);
  SurveyReport report{.title = title_of(sources), .survey = run_survey(sources, command.survey, terminal)};
  report.ledger = std::move(ledger);
  if (report.survey.images.empty()) {
    throw Error(ErrorCode::not_found, "no samples to report on", {.path = command.sources.front()});
  }
  report.summary = summarize(report.survey);
  report.duplicates = run_search(report.survey, command.survey, terminal);
  if (!command.output.empty()) {
    const auto show_status = terminal.status_shower(command.survey.quiet);
    show_status("making the page");
    const std::string page =
        survey_page(report, {.pictures_per_class = command.pictures_per_class, .listed = command.limit});
    publish_file(command.output, as_bytes(page));
    show_status({});
  }
  if (command.survey.json) {
    terminal.print(survey_json(report));
  } else if (!command.survey.quiet) {
    terminal.print(summary_text(report));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
