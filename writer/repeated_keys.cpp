#include "bale/writer/repeated_keys.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "bale/formats/base/checksum.hpp"

namespace bale {
namespace {

/// The hashes that more than one key has.
std::unordered_set<std::uint64_t> repeated(std::vector<std::uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  std::unordered_set<std::uint64_t> found;
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - 1]) found.insert(hashes[i]);
  }
  return found;
}

}  // namespace

std::optional<RepeatedKey> find_repeated_key(std::size_t num_shards,
                                             const std::function<ShardIndex(std::size_t)>& index_of) {
  std::vector<std::uint64_t> hashes;
  for (std::size_t shard = 0; shard < num_shards; ++shard) {
    const ShardIndex index = index_of(shard);
    for (std::uint64_t i = 0; i < index.size(); ++i) hashes.push_back(hash_key(index.key(i)));
  }
  const std::unordered_set<std::uint64_t> candidates = repeated(std::move(hashes));
  if (candidates.empty()) return std::nullopt;
  std::map<std::string, std::size_t, std::less<>> seen;
  for (std::size_t shard = 0; shard < num_shards; ++shard) {
    const ShardIndex index = index_of(shard);
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      const std::string_view key = index.key(i);
      if (!candidates.contains(hash_key(key))) continue;
      const auto [known, is_new] = seen.emplace(key, shard);
      if (!is_new) return RepeatedKey{.key = known->first, .first = known->second, .second = shard};
    }
  }
  return std::nullopt;
}

}  // namespace bale
