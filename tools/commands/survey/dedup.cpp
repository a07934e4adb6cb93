#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/tools/commands/survey/survey_commands.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

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

int run_dedup(const DedupCommand& command, Terminal& terminal) {
  require_output_file(command.output, command.force);
  if (command.survey.source_options.kind.empty() && datasets_below(command.source).size() > 1) {
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
  if (!command.survey.quiet) terminal.note(summary_text(survey, spare));
  return k_exit_ok;
}

}  // namespace bale::tools
