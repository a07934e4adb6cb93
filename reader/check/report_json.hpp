// Reports of reading as JSON text, each ending in a newline: those of the program and of Python.
//
// Names, paths and keys are strings if they are UTF-8, else {"hex": "..."} (formats/base/json/json.hpp), so that no
// byte is lost.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/dataset_check.hpp"
#include "bale/reader/dataset_summary.hpp"

namespace bale {

/// Ignored entries, all of them counted and the first ones named, and warnings.
Json notices_json(const NoticeLog& notices);
Json conditions_json(const ImageConditions& conditions);

std::string summary_json(const DatasetSummary& summary);
/// Of a directory that contains several datasets.
std::string summaries_json(const std::string& spec, const std::vector<DatasetSummary>& summaries);
std::string check_json(const CheckReport& report);

}  // namespace bale
