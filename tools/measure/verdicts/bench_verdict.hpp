// What the stages that `bale bench` measured say together. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "bale/tools/measure/bench_stages.hpp"

namespace bale::tools {

/// The stage that limits loading: read if reading alone is hardly faster than the pipeline, verify likewise, else
/// decode. nullopt without the rate of read (or verify) and of train (or decode).
std::optional<Stage> limiting_stage(std::span<const std::pair<Stage, StageResult>> stages);

/// "You are decode-bound: ...", and what to try, in a few sentences. Empty if limiting_stage() is nullopt.
std::string bench_advice(std::span<const std::pair<Stage, StageResult>> stages);

}  // namespace bale::tools
