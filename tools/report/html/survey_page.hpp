// The report on a dataset as a page.
#pragma once

#include <cstdint>
#include <string>

#include "bale/tools/report/text/survey_report.hpp"

namespace bale::tools {

struct PageLimits {
  std::uint64_t pictures_per_class = 0;  // 0: 12, and fewer of many classes
  std::uint64_t listed = 50;             // images per remark, and groups of duplicates per kind
};

/// Reads the samples that it shows again. Lists that are cut say so.
std::string survey_page(const SurveyReport& report, const PageLimits& limits);

}  // namespace bale::tools
