// Which shards of a plan a part has.
//
// Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {

/// First shard of a part, and first of the next.
std::pair<std::uint64_t, std::uint64_t> shards_of_part(std::uint64_t part, std::uint64_t parts,
                                                       std::uint64_t num_shards);

/// The parts of `parts` that have one of these shards, ascending; none if `parts` is 0.
std::vector<std::uint64_t> missing_parts_of(const std::vector<std::uint64_t>& missing_shards, std::uint64_t parts,
                                            std::uint64_t num_shards);

/// Numbers of the chosen shards, ascending, each once. Throws `invalid_argument`.
std::vector<std::uint64_t> chosen_shards(const PlanFile& plan, const PartChoice& choice);

}  // namespace bale
