// Arguments and functions of `bale report` and `bale dedup`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bale/tools/survey/duplicates/duplicates.hpp"
#include "bale/tools/survey/duplicates/spare_images.hpp"
#include "bale/tools/survey/survey.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/source/source.hpp"

namespace bale::tools {

/// What `report` and `dedup` share: the sources that they look at, and how.
struct SurveyCommand {
  SourceOptions source_options;
  SurveyOptions options;
  NearOptions near;
  bool finds_near = true;
  bool strict = false;  // what is not taken or used is an error
  bool json = false;
  bool json_progress = false;
  bool quiet = false;
};

/// Sources with names for a report, and what a Survey of them borrows.
struct SurveyedSources {
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::string> names;
};

/// Opens packed datasets, folders, lists and tables. A directory of several datasets becomes one source each. What
/// cannot be read of them is left out (Source::losses()). Names are the ends of the specs, as long as it takes to
/// differ.
SurveyedSources open_surveyed(const std::vector<std::string>& specs, const SurveyCommand& command, Terminal& terminal);

/// Shows what the sources did not take or use, and returns it. Throws `unsupported` if that is not allowed.
NoticeLog print_notices(const SurveyedSources& sources, const SurveyCommand& command, Terminal& terminal);

/// One pass over the images, with progress.
Survey run_survey(const SurveyedSources& sources, const SurveyCommand& command, Terminal& terminal);
Duplicates run_search(const Survey& survey, const SurveyCommand& command, Terminal& terminal);

struct ReportCommand {
  std::vector<std::string> sources;
  std::string output;  // page to write; empty: none
  bool force = false;  // replace an existing file of that name
  std::uint64_t pictures_per_class = 0;
  std::uint64_t limit = 50;
  SurveyCommand survey;
};
int run_report(const ReportCommand& command, Terminal& terminal);

struct DedupCommand {
  std::string source;
  std::vector<std::string> against;  // sources whose images are kept
  std::string output;                // list to write; empty: standard output
  bool force = false;
  bool null_ended = false;
  SpareOptions rules;
  SurveyCommand survey;
};
int run_dedup(const DedupCommand& command, Terminal& terminal);

}  // namespace bale::tools
