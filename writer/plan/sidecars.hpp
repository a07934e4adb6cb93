// Selects the files for other readers (Sidecar, ShardList) that a run writes.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"

namespace bale {

/// The sidecars of every shard: those that are always written, and those with the given names.
std::vector<Sidecar> sidecars_of(const Layout& layout, const std::vector<std::string>& names);
/// The shard lists with the given names.
std::vector<ShardList> lists_of(const Layout& layout, const std::vector<std::string>& names);

/// Throws `invalid_argument` if the layout does not have one of the names. The hint lists the names that it has.
void check_sidecars(const FormatAndLayout& format, const std::vector<std::string>& names);

/// Every name that any layout has, for help texts: "wds2idx, wids, ...".
std::string sidecar_choices();

}  // namespace bale
