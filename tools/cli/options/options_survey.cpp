#include "bale/tools/cli/options/options.hpp"

#include <string>

#include "bale/formats/base/options/option_values.hpp"
#include "bale/tools/cli/options/values.hpp"
#include "bale/writer/source/choose/source_table.hpp"

namespace bale::tools {
namespace {

void declare_source(SurveyCommand& command, CommandModel& app) {
  const std::size_t begin = app.options.size();
  add_source_options(app.options, command.source_options, SourceUse::any);
  set_group(app.options, begin, "Source");
}

/// Returns the number of the first of these options.
std::size_t declare_near(SurveyCommand& command, CommandModel& app) {
  const std::size_t begin = app.options.size();
  NearOptions& near = command.near;
  add_flag(app.options, "--mirrored", near.mirrored, "Also find images that are mirrored left to right");
  add_flag(
      app.options, "--no-crops", [&near] { near.crops = false; },
      "Do not look for images that are a part of another: faster");
  add_parsed(app.options, "--similarity", "S", near.min_similarity, parse_similarity,
             "Correlation from which on images look the same, 0.5 to 1 (default: 0.92)");
  return begin;
}

void declare_rest(SurveyCommand& command, CommandModel& app) {
  add_max_pixels(app.options, command.options.max_pixels);
  add_jobs(app.options, command.options.jobs, "Images examined at a time (default: one per core)");
  add_strict(app.options, command.strict);
}

void declare_output(SurveyCommand& command, CommandModel& app, const std::string& json_text) {
  add_json(app, command.json, json_text);
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
}

}  // namespace

void declare_report(ReportCommand& command, CommandModel& app) {
  add_positional(app, "SOURCE", command.sources,
                 std::string(k_source_text) + ", or a directory of packed datasets; several are splits of one dataset");
  OptionModel& output =
      add_text(app.options, "-o,--output", "FILE", command.output, "Page to write, such as report.html");
  add_flag(app.options, "--force", command.force, "Replace FILE if it exists").needs(output);
  declare_source(command.survey, app);
  OptionModel& no_near = add_flag(
      app.options, "--no-near", [&command] { command.survey.finds_near = false; },
      "Find duplicates by their bytes only");
  for (std::size_t n = declare_near(command.survey, app); n < app.options.size(); ++n) app.options[n].excludes(no_near);
  add_parsed(app.options, "--pictures", "N", command.pictures_per_class, parse_positive,
             "Pictures per class on the page (default: 12, fewer if there are many classes)");
  add_parsed(app.options, "--limit", "N", command.limit, parse_positive,
             "Images per remark, and groups of duplicates, on the page (default: 50)");
  declare_rest(command.survey, app);
  declare_output(command.survey, app, "Print JSON with all lists in full instead of the summary");
  show_flags(app);
  app.footer =
      "\n"
      "Every image is read and decoded at reduced size. The page is one file without scripts.\n"
      "Examples:\n"
      "  bale report imagenet/train imagenet/val -o report.html\n"
      "  bale report packed --json > report.json";
}

void declare_dedup(DedupCommand& command, CommandModel& app) {
  command.survey.finds_near = false;
  add_positional(app, "SOURCE", command.source, k_source_text);
  OptionModel& output =
      add_text(app.options, "-o,--output", "LIST", command.output, "File to write (default: standard output)");
  add_flag(app.options, "--force", command.force, "Replace LIST if it exists").needs(output);
  add_repeated(app.options, "--against", "OTHER", command.against,
               "Also list what is in this dataset, none of whose images is ever listed; may be repeated");
  OptionModel& near = add_flag(app.options, "--near", command.survey.finds_near,
                               "List images that look the same, too, not only those with the same bytes");
  for (std::size_t n = declare_near(command.survey, app); n < app.options.size(); ++n) app.options[n].needs(near);
  add_parsed(
      app.options, "--keep", "first|largest|smallest", command.rules.keep, parse_keep_rule,
      "Image of a group that is not listed: the first (default), the one with the most pixels, or with the fewest "
      "bytes");
  add_parsed(app.options, "--conflicts", "keep-one|keep-all|drop-all", command.rules.conflicts, parse_conflict_rule,
             "Groups with different labels: keep one (default), list none of them, or list all");
  add_flag(app.options, "-0,--null", command.null_ended, "End names by NUL; names with a newline always are");
  declare_source(command.survey, app);
  declare_rest(command.survey, app);
  declare_output(command.survey, app, "Print JSON: what is listed, and which image is kept in its place");
  show_flags(app);
  app.footer =
      "\n"
      "Nothing is removed: --exclude-from of pack, plan and convert takes the list.\n"
      "Examples:\n"
      "  bale dedup photos -o duplicates.txt --near --keep largest\n"
      "  bale pack photos packed --exclude-from duplicates.txt\n"
      "  bale dedup train -o leaked.txt --near --against val";
}

}  // namespace bale::tools
