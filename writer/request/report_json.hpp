// Reports of packing as JSON text, each ending in a newline: those of the program and of Python.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/json/json.hpp"
#include "bale/writer/request/pack_request.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {

std::string pack_json(const PackReport& report, double seconds, const RunRemarks& remarks,
                      const ImageConditions& conditions);
/// Adds the members of a report about what was ignored and left out.
void add_remarks(const RunRemarks& remarks, Json& report);
Json skipped_json(const std::vector<SkippedSample>& samples);
std::string preview_json(const PackPreview& preview, const std::vector<std::string>& warnings);
std::string plan_json(const PlanReport& report, const RunRemarks& remarks);
std::string part_json(const PartReport& report, double seconds);
/// Of a merge that lacks shards. `array` is for Slurm's --array; null if the number of parts is unknown.
std::string missing_json(const MergeReport& report);

}  // namespace bale
