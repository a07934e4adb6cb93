// What packing a part and merging parts have in common.
//
// Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bale/writer/plan_file.hpp"
#include "bale/writer/replacement.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {

/// First shard of a part, and first of the next.
std::pair<std::uint64_t, std::uint64_t> shards_of_part(std::uint64_t part, std::uint64_t parts,
                                                       std::uint64_t num_shards);

/// Numbers of the chosen shards, ascending, each once. Throws `invalid_argument`.
std::vector<std::uint64_t> chosen_shards(const PlanFile& plan, const PartChoice& choice);

/// The names of a shard's files at the destination. Their temporary names are meaningless.
std::vector<Replacement::Move> files_of_place(const PlanFile& plan, const PlanFile::Place& place);

}  // namespace bale
