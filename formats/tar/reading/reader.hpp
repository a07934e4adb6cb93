// What the format (format.cpp) is made of: scan() and open() of tar shards, and the files next to them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bale/formats/shard/format.hpp"

namespace bale::tar {

void scan(const std::string& path, IndexBuilder& index);
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

/// Files next to plain shards that other readers of WebDataset need. Each function is named after the reader. FORMAT.md
/// has the schemas.
/// DALI's: one line per sample, with extension, offset, size and name of every file. Throws `unsupported` for a name
/// with white space, because white space separates the columns.
std::string wds2idx_text(const std::string& path, const ShardIndex& index);
/// Megatron Energon's: the offset of every sample and the end of the last one, u64 each.
std::string energon_text(const std::string& path, const ShardIndex& index);

std::string wids_text(const std::string& dataset, std::span<const ListedShard> shards);
std::string timm_text(const std::string& dataset, std::span<const ListedShard> shards);

}  // namespace bale::tar
