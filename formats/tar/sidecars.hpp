// Files beside plain shards that other readers of WebDataset want. Each is named after what reads it; FORMAT.md has
// their schemas.
#pragma once

#include <span>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::tar {

/// DALI's: a line a sample, with extension, offset, size and name of every file. Throws `unsupported` for names with
/// white space, which part the columns.
std::string wds2idx_text(const std::string& path, const ShardIndex& index);
/// Megatron Energon's: where every sample begins and the last one ends, u64 each.
std::string energon_text(const std::string& path, const ShardIndex& index);

std::string wids_text(const std::string& dataset, std::span<const ListedShard> shards);
std::string timm_text(const std::string& dataset, std::span<const ListedShard> shards);

}  // namespace bale::tar
