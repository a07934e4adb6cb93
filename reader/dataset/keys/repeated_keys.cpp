#include "bale/reader/dataset/keys/repeated_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

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

std::optional<RepeatedKey> find_repeated_key(
    std::size_t num_shards, const std::function<void(std::size_t shard, const KeyVisitor& visit)>& visit_keys) {
  std::vector<std::uint64_t> hashes;
  for (std::size_t shard = 0; shard < num_shards; ++shard) {
    visit_keys(shard, [&](std::string_view key) { hashes.push_back(hash_key(key)); });
  }
  const std::unordered_set<std::uint64_t> candidates = repeated(std::move(hashes));
  if (candidates.empty()) return std::nullopt;
  std::map<std::string, std::size_t, std::less<>> seen;
  std::optional<RepeatedKey> found;
  for (std::size_t shard = 0; shard < num_shards && !found; ++shard) {
    visit_keys(shard, [&](std::string_view key) {
      if (found || !candidates.contains(hash_key(key))) return;
      const auto [known, is_new] = seen.emplace(key, shard);
      if (!is_new) found = {.key = known->first, .first = known->second, .second = shard};
    });
  }
  return found;
}

}  // namespace bale
