// One skipped sample as JSON: a line of the ledger (skipped.jsonl) or an entry in the journal.
//
// Pure functions, safe in any thread.
#pragma once

#include "bale/formats/base/json/json.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

Json skipped_to_json(const SkippedSample& sample);

/// Throws `damaged` for anything that skipped_to_json() does not produce.
SkippedSample skipped_from_json(const Json& line);

}  // namespace bale
