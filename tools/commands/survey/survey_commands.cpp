#include "bale/tools/commands/survey/survey_commands.hpp"

#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"

namespace bale::tools {

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

}  // namespace bale::tools
