// Opens what is readable of a shard that is damaged or cut short.
//
// No shared state; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/shard/shard.hpp"

namespace bale {

/// A shard with the samples that may be intact, and what was lost.
struct SalvagedShard {
  Shard shard;
  std::string loss{};  // what was lost and why; empty if no loss is known
  /// Lost samples, without those in the index that cannot be read; nullopt if their number is unknown.
  std::optional<std::uint64_t> num_lost = 0;
};

/// Opens a shard as `format` or, if that is null, as the format that it looks like. With an index that has checksums,
/// all samples are kept, and reading a damaged one throws. Without an index the shard is scanned. If the scan meets
/// damage, the complete samples before it are taken, provided the format's scan leaves them in its builder. Throws if
/// nothing can be read.
SalvagedShard salvage_shard(const std::string& path, const Format* format, const ShardOpenOptions& options);

}  // namespace bale
