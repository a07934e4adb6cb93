// The options of packing: `bale pack`, `convert` and `plan`, and Python's functions of these names.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/writer/request/pack_request.hpp"

namespace bale {

inline constexpr const char* k_seek_points_text =
    "Write seek points next to each shard, so that loaders can start decoding a JPEG at any row (about 0.3% of the "
    "bytes)";

/// The options that say what is packed, and how. `request.command` and `source_is_packed` say for which command.
void add_pack_options(OptionTable& table, PackRequest& request);

inline constexpr const char* k_run_group = "Run";
/// Those of the run.
void add_run_options(OptionTable& table, PackRequest& request);

/// A condition on samples.
void add_where(OptionTable& table, std::string& condition);
void add_sidecars(OptionTable& table, std::vector<std::string>& names);

}  // namespace bale
