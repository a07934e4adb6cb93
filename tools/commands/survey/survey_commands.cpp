#include "bale/tools/commands/survey/survey_commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/report/html/page.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/report/text/survey_report.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

std::string title_of(const SurveyedSources& sources) { return joined(sources.names); }

std::string summary_text(const SurveyReport& report) {
  const SurveySummary& summary = report.summary;
  std::string text = fmt::format("{}, {}, {}\n", plural(summary.all.num_images, "image"),
                                 plural(report.survey.classes.size(), "class"), human_bytes(summary.all.bytes));
  for (const Finding& finding : findings_of(report)) text += printable(finding.text) + '\n';
  return text;
}

/// The name by which --exclude-from finds a sample. One name per line: keys are as they are printed.
std::string listed_name(const Survey& survey, std::uint64_t image, bool is_line = false) {
  const std::size_t part = survey.part_of(image);
  const std::vector<SourceFile> files = survey.parts[part].source->files(image - survey.begins[part]);
  if (!files.empty()) return files.front().below_root;
  return is_line ? printed_key(survey.key(image)) : survey.key(image);
}

std::string list_text(const Survey& survey, const std::vector<SpareImage>& spare, bool null_ended) {
  const auto has_newline = [&](const SpareImage& image) {
    return listed_name(survey, image.image, true).find('\n') != std::string::npos;
  };
  // A path with a newline needs the other end; exclude_listed() sees by the first NUL which one it is.
  const bool ends_with_nul = null_ended || std::any_of(spare.begin(), spare.end(), has_newline);
  std::string text;
  for (const SpareImage& image : spare) {
    text += listed_name(survey, image.image, !ends_with_nul) + (ends_with_nul ? '\0' : '\n');
  }
  return text;
}

std::vector<std::string> losses_of(const Survey& survey) {
  std::vector<std::string> losses;
  for (const SurveyPart& part : survey.parts) {
    if (const std::string text = losses_text(part); !text.empty()) losses.push_back(printable(text));
  }
  return losses;
}

std::uint64_t count_corrupt(const Survey& survey) {
  return static_cast<std::uint64_t>(std::count_if(survey.images.begin(), survey.images.end(),
                                                  [](const auto& image) { return image.remarks.has_corrupt(); }));
}

std::string spare_json(const Survey& survey, const Duplicates& duplicates, const std::vector<SpareImage>& spare,
                       const NoticeLog& ledger) {
  Json listed = Json::array();
  for (const SpareImage& image : spare) {
    Json one{{"name", bytes_to_json(listed_name(survey, image.image))}};
    if (image.kept != image.image) {
      one["kept"] = bytes_to_json(listed_name(survey, image.kept));
      one["kept_in"] = bytes_to_json(survey.parts[survey.part_of(image.kept)].name);
    } else {
      one["kept"] = Json();
    }
    one["exact"] = image.is_exact;
    listed.push_back(std::move(one));
  }
  const Json out{{"images", survey.begins[1]},
                 {"listed", spare.size()},
                 {"groups", duplicates.groups.size()},
                 {"conflicting_groups", duplicates.num_conflicting},
                 {"not_all_compared", duplicates.num_cut},
                 {"corrupt", count_corrupt(survey)},
                 {"losses", Json::list_of(losses_of(survey))},
                 {"notices", notices_json(ledger)},
                 {"duplicates", std::move(listed)}};
  return out.dump({.indent = 2}) + '\n';
}

std::string summary_text(const Survey& survey, const std::vector<SpareImage>& spare) {
  const auto exact = static_cast<std::uint64_t>(
      std::count_if(spare.begin(), spare.end(), [](const SpareImage& image) { return image.is_exact; }));
  return fmt::format(
      "{} of {} listed: {} with the bytes of an image that is kept, {} that look like one or have a "
      "conflict",
      human_count(spare.size()), plural(survey.begins[1], "image"), human_count(exact),
      human_count(spare.size() - exact));
}

}  // namespace

SurveyedSources open_surveyed(const std::vector<std::string>& specs, const SurveyCommand& command, Terminal& terminal) {
  SourceOptions options = command.source_options;
  options.keys_name_files = false;  // keys as they are
  options.may_lack_images = true;
  options.allow_unlabeled = true;
  options.are_shared = true;
  options.skip_damaged = true;
  std::vector<std::string> opened;
  for (const std::string& spec : specs) {
    const NamedDatasets named = options.kind.empty() ? datasets_at(spec, terminal) : NamedDatasets{.specs = {spec}};
    opened.insert(opened.end(), named.specs.begin(), named.specs.end());
  }
  SurveyedSources result{.sources = {}, .names = names_apart(opened)};
  const std::vector<SourceOptions> of_each = options_of_each(opened, options);
  for (std::size_t i = 0; i < opened.size(); ++i) {
    result.sources.push_back(open_announced(opened[i], of_each[i], terminal, command.quiet));
  }
  return result;
}

NoticeLog print_notices(const SurveyedSources& sources, const SurveyCommand& command, Terminal& terminal) {
  std::vector<const NoticeLog*> logs;
  for (const std::unique_ptr<Source>& source : sources.sources) logs.push_back(&source->notices());
  NoticeLog ledger = NoticeLog::of_all(logs);
  show_notices(ledger, "path", terminal);
  if (command.strict) require_all_taken(ledger, "path");
  return ledger;
}

Survey run_survey(const SurveyedSources& sources, const SurveyCommand& command, Terminal& terminal) {
  std::vector<SurveyPart> parts;
  for (std::size_t i = 0; i < sources.sources.size(); ++i) {
    parts.push_back({.name = sources.names[i], .source = sources.sources[i].get()});
  }
  SurveyOptions options = command.options;
  options.keep_thumbprints = command.finds_near;
  return run_attended("examined", progress_style(command.quiet, command.json_progress), terminal,
                      [&](Progress& progress) { return survey_images(std::move(parts), options, progress); });
}

Duplicates run_search(const Survey& survey, const SurveyCommand& command, Terminal& terminal) {
  NearOptions near = command.near;
  near.jobs = command.options.jobs;
  return run_attended(
      "compared", progress_style(command.quiet, command.json_progress), terminal,
      [&](Progress& progress) { return find_duplicates(survey, command.finds_near ? &near : nullptr, progress); });
}

int run_report(const ReportCommand& command, Terminal& terminal) {
  require_output_file(command.output, command.force);
  const SurveyedSources sources = open_surveyed(command.sources, command.survey, terminal);
  NoticeLog ledger = print_notices(sources, command.survey, terminal);
  SurveyReport report{.title = title_of(sources), .survey = run_survey(sources, command.survey, terminal)};
  report.ledger = std::move(ledger);
  report.options = terminal.options();
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

int run_dedup(const DedupCommand& command, Terminal& terminal) {
  require_output_file(command.output, command.force);
  if (command.survey.source_options.kind.empty() && datasets_below(command.source).datasets.size() > 1) {
    throw Error(ErrorCode::invalid_argument, "a directory of several datasets: a list is for one of them",
                {.path = command.source, .hint = "name one, and the others with --against"});
  }
  std::vector<std::string> specs{command.source};
  specs.insert(specs.end(), command.against.begin(), command.against.end());
  const SurveyedSources sources = open_surveyed(specs, command.survey, terminal);
  const NoticeLog ledger = print_notices(sources, command.survey, terminal);
  const Survey survey = run_survey(sources, command.survey, terminal);
  const Duplicates duplicates = run_search(survey, command.survey, terminal);
  SpareOptions rules = command.rules;
  rules.first_kept_part = 1;
  const std::vector<SpareImage> spare = spare_images(survey, duplicates, rules);
  const std::string list = list_text(survey, spare, command.null_ended);
  if (!command.output.empty()) publish_file(command.output, as_bytes(list));
  if (command.survey.json) {
    terminal.print(spare_json(survey, duplicates, spare, ledger));
  } else if (command.output.empty()) {
    terminal.print(list);
  }
  for (const std::string& text : losses_of(survey)) terminal.note(text);
  if (const std::uint64_t count = count_corrupt(survey); count != 0) {
    terminal.note(fmt::format("{} cannot be used, and may have duplicates that are not found: `bale report` names {}",
                              plural(count, "image"), count == 1 ? "it" : "them"));
  }
  if (!command.survey.quiet) terminal.note(summary_text(survey, spare));
  return k_exit_ok;
}

}  // namespace bale::tools
