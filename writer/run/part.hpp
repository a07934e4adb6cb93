// What packing a part and merging parts have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

/// Opens a plan whose destination can be written to from here.
PlanFile open_plan(const std::string& path);

/// Where the parts of a plan are packed to. `parts`: how many there are, if the store is to note it; else 0. `options`
/// are those of the plan, with those of the run; all arguments must outlive the store.
std::unique_ptr<PartStore> open_part_store(const PlanFile& plan, const PackOptions& options, std::uint64_t parts,
                                           const Progress& progress);

}  // namespace bale
