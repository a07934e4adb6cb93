// One skipped sample as JSON: a line of the ledger (skipped.jsonl) or an entry in the journal.
//
// Pure functions, safe in any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bale/writer/packer.hpp"

namespace bale {

nlohmann::json skipped_to_json(const SkippedSample& sample);

/// Throws `damaged` or an exception of the JSON library for anything that skipped_to_json() does not produce.
SkippedSample skipped_from_json(const nlohmann::json& line);

}  // namespace bale
