// What `bale report` shows: as sentences, as JSON, and as a page (html/page.hpp).
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/base/options/option_names.hpp"
#include "bale/tools/survey/duplicates/duplicates.hpp"
#include "bale/tools/survey/survey_summary.hpp"

namespace bale::tools {

struct SurveyReport {
  std::string title;
  Survey survey;
  SurveySummary summary;
  Duplicates duplicates;
  NoticeLog ledger{};     // what the sources did not take or use
  OptionNames options{};  // that remarks of the ledger may name
};

struct Finding {
  const char* tone;     // "bad", "warn" or "good"
  const char* section;  // anchor on the page
  std::string text;     // a sentence; names in it are raw
};

/// What of a part is in no sample: shards and folders that cannot be read. Empty if there are none.
std::string losses_text(const SurveyPart& part);

/// What the owner of the data should look at, the worst first; one "good" finding if there is nothing.
std::vector<Finding> findings_of(const SurveyReport& report);

/// The name of an image's class, "no label" without one. Raw.
std::string class_title(const Survey& survey, std::uint64_t image);

/// Everything, with all lists in full. Ends in a newline.
std::string survey_json(const SurveyReport& report);

}  // namespace bale::tools
