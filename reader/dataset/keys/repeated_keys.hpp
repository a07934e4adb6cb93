// Finds a key that two samples of several shards have.
//
// Memory: 8 bytes per sample. Pure functions, safe in any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace bale {

struct RepeatedKey {
  std::string key;
  std::size_t first = 0;   // number of a shard that has it
  std::size_t second = 0;  // number of another, or the same
};

using KeyVisitor = std::function<void(std::string_view key)>;

/// `visit_keys(n, visit)` calls `visit` for each key of shard n of `num_shards`; it may be called twice for each. The
/// result is exact: equal hashes find candidates, and the keys themselves are compared.
std::optional<RepeatedKey> find_repeated_key(
    std::size_t num_shards, const std::function<void(std::size_t shard, const KeyVisitor& visit)>& visit_keys);

}  // namespace bale
