// One line of the ledger (skipped.jsonl) and of the journal's lists: a sample that was left out.
//
// Pure functions, safe in any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bale/writer/packer.hpp"

namespace bale {

nlohmann::json skipped_to_json(const SkippedSample& sample);

/// Throws `damaged`, or what the JSON library throws, for anything that skipped_to_json does not make.
SkippedSample skipped_from_json(const nlohmann::json& line);

}  // namespace bale
