// Files for other readers (Sidecar, ShardList): which of them a run writes.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"

namespace bale {

/// The files beside every shard: those that always come with it, and those whose names are asked for.
std::vector<Sidecar> sidecars_of(const Layout& layout, const std::vector<std::string>& names);
/// The files beside all shards whose names are asked for.
std::vector<ShardList> lists_of(const Layout& layout, const std::vector<std::string>& names);

/// Throws `invalid_argument` where the layout has nothing of one of the names, telling what there is.
void check_sidecars(const FormatAndLayout& format, const std::vector<std::string>& names);

/// Every name that any layout has, for help texts: "wds2idx|wids|...".
std::string sidecar_choices();

}  // namespace bale
