// The sections of survey_page(); internal.
#pragma once

#include <string>

#include "bale/tools/report/html/pages.hpp"
#include "bale/tools/report/html/pictures.hpp"

namespace bale::tools {

/// Figures, findings and splits.
std::string overview_section(const SurveyReport& report);
std::string classes_section(const SurveyReport& report);
std::string sizes_section(const SurveyReport& report);
std::string formats_section(const SurveyReport& report);
/// What cannot be used, and what is suspicious.
std::string remark_sections(const SurveyReport& report, const PageLimits& limits, Pictures& pictures);
std::string duplicates_section(const SurveyReport& report, const PageLimits& limits, Pictures& pictures);
/// Contact sheets of the classes.
std::string sheets_section(const SurveyReport& report, const PageLimits& limits, Pictures& pictures);

/// An image with its split, class, name, size and bytes, and a note.
std::string image_figure(const Survey& survey, std::uint64_t image, Pictures& pictures, const std::string& note = {});
/// "and 12 more; --json has all of them"; empty if `count` is 0.
std::string more_note(std::uint64_t count, const std::string& noun);

}  // namespace bale::tools
