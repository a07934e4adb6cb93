// What the names of shards without a manifest say about those that are not there, or not of this dataset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"

namespace bale {

/// Warns of shards that the names of others count ("x-00000-of-00002") or whose numbers they skip ("x-000000",
/// "x-000002"), and that are not among them; and of names of several splits ("train-000000", "val-000000").
NoticeLog odd_shard_names(const std::vector<std::string>& shards);

/// A line that `files`, which people call `what`, are of several splits by their names, or else by those of their
/// directories; empty if they are not.
std::string several_splits(const std::vector<std::string>& files, std::string_view what);

}  // namespace bale
