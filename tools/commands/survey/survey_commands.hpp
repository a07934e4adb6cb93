// Arguments and functions of `bale report` and `bale dedup`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/tools/commands/survey/survey_options.hpp"
#include "bale/tools/survey/duplicates/spare_images.hpp"

namespace bale::tools {

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
