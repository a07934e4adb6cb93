// What can be had of a shard that is damaged or cut short.
//
// Functions without shared state, safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/shard/shard.hpp"

namespace bale {

/// A shard with the samples that may be whole, and what is lost of it.
struct SalvagedShard {
  Shard shard;
  std::string loss{};  // what is lost and why; empty if nothing is known to be
  /// Samples that are lost beside those in the index that cannot be read; nullopt: nobody knows how many there were.
  std::optional<std::uint64_t> num_lost = 0;
};

/// Opens a shard as `format` or, if that is null, as what it looks like. One with an index that has checksums keeps all
/// its samples, and those that are damaged say so when they are read. One without an index is scanned; if the scan
/// meets damage, the samples that are complete before it are taken, provided the format's scan leaves them in its
/// builder. Throws if nothing can be had.
SalvagedShard salvage_shard(const std::string& path, const Format* format, const ShardOpenOptions& options);

}  // namespace bale
