// The options of packing: `bale pack`, `convert` and `plan`, and Python's functions of these names.
#pragma once

#include <string>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/writer/plan/shard_table.hpp"
#include "bale/writer/request/pack_request.hpp"

namespace bale {

/// The options that say what is packed, and how. `request.command` and `source_is_packed` say for which command.
void add_pack_options(OptionTable& table, PackRequest& request);

inline constexpr const char* k_run_group = "Run";
/// Those of the run.
void add_run_options(OptionTable& table, PackRequest& request);

/// A condition on samples.
void add_where(OptionTable& table, std::string& condition);

}  // namespace bale
