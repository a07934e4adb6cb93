// What packing a part and merging parts have in common.
//
// Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bale/writer/journal/replacement.hpp"
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

/// The names of a shard's files at the destination. Their temporary names are meaningless.
std::vector<Replacement::Move> files_of_place(const PlanFile& plan, const PlanFile::Place& place);

/// What packing the shards of `slots` came to; each slot has what is `finished`.
template <typename Slots>
PartReport report_of_part(const std::string& destination, const Slots& slots, std::uint64_t num_resumed,
                          bool is_merged) {
  PartReport report{.destination = destination,
                    .is_merged = is_merged,
                    .num_shards = slots.size(),
                    .num_resumed_shards = num_resumed};
  for (const auto& slot : slots) {
    report.num_samples += slot.finished->shard.num_samples;
    report.num_bytes += slot.finished->shard.bytes;
    report.skipped.insert(report.skipped.end(), slot.finished->skipped.begin(), slot.finished->skipped.end());
  }
  return report;
}

}  // namespace bale
