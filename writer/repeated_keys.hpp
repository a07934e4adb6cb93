// Finds a key that two samples of several shards have, from their indexes.
//
// Memory: 8 bytes per sample, and one index at a time. Pure functions, safe in any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/shard_index.hpp"

namespace bale {

struct RepeatedKey {
  std::string key;
  std::size_t first = 0;   // number of a shard that has it
  std::size_t second = 0;  // number of another, or the same
};

/// `index_of(n)` loads the index of shard n of `num_shards`; it may be called twice for each. The result is exact: equal hashes
/// find candidates, and the keys themselves are compared.
std::optional<RepeatedKey> find_repeated_key(std::size_t num_shards, const std::function<ShardIndex(std::size_t)>& index_of);

}  // namespace bale
