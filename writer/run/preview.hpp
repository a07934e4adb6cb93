// What a run would write, without writing it: the checks are those of the run.
#pragma once

#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"

namespace bale {

/// The shards of a plan. What becomes of the bytes of a sample is measured by some of them.
PackPreview preview_of(const Source& source, const PackOptions& options, const Plan& plan);

}  // namespace bale
