#include "bale/reader/order/node_parts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/reader/order/permutation.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_shard_stream = 0x6E6F6465;  // "node": separates this permutation from a shuffle's
constexpr std::uint64_t k_most_ranks = std::uint64_t{1} << 62;

void check(const std::vector<std::uint64_t>& shard_ends, const Nodes& nodes) {
  if (nodes.count == 0 || nodes.ranks == 0 || nodes.count > k_most_ranks / nodes.ranks) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} nodes with {} ranks each", nodes.count, nodes.ranks));
  }
  if (!std::is_sorted(shard_ends.begin(), shard_ends.end())) {
    throw Error(ErrorCode::invalid_argument, "the ends of the shards are not in ascending order");
  }
}

}  // namespace

struct NodeParts::Tables {
  std::vector<std::uint64_t> ends;         // of the shards, in the unshuffled order
  std::vector<std::uint64_t> placed_ends;  // the same after the shards were permuted
  Permutation shard_at;                    // from a place among the shards to a shard

  std::uint64_t begin_of_shard(std::uint64_t shard) const { return shard == 0 ? 0 : ends[shard - 1]; }
  std::uint64_t begin_of_place(std::uint64_t place) const { return place == 0 ? 0 : placed_ends[place - 1]; }
};

NodeParts::NodeParts(std::vector<std::uint64_t> shard_ends, Nodes nodes, std::uint64_t seed) : nodes_(nodes) {
  check(shard_ends, nodes);
  const std::uint64_t num_shards = shard_ends.size();
  auto tables = std::make_shared<Tables>(
      Tables{std::move(shard_ends), {}, Permutation(num_shards, KeyedRandom{k_shard_stream, seed}.next())});
  tables->placed_ends.reserve(num_shards);
  std::uint64_t end = 0;
  for (std::uint64_t place = 0; place < num_shards; ++place) {
    const std::uint64_t shard = tables->shard_at.at(place);
    end += tables->ends[shard] - tables->begin_of_shard(shard);
    tables->placed_ends.push_back(end);
  }
  tables_ = std::move(tables);
}

std::uint64_t NodeParts::size() const { return tables_->ends.empty() ? 0 : tables_->ends.back(); }

/// Each rank has size() / world size deliveries, the first ranks one more.
std::uint64_t NodeParts::begin_of(std::uint64_t node) const {
  const std::uint64_t ranks_before = node * nodes_.ranks;
  const std::uint64_t world_size = nodes_.count * nodes_.ranks;
  return size() / world_size * ranks_before + std::min(size() % world_size, ranks_before);
}

NodeParts::Place NodeParts::place(std::uint64_t position) const {
  const std::uint64_t world_size = nodes_.count * nodes_.ranks;
  const std::uint64_t rank = position % world_size;
  return {rank / nodes_.ranks, position / world_size * nodes_.ranks + rank % nodes_.ranks};
}

std::uint64_t NodeParts::position(const Place& place) const {
  const std::uint64_t rank = place.node * nodes_.ranks + place.number % nodes_.ranks;
  return place.number / nodes_.ranks * nodes_.count * nodes_.ranks + rank;
}

std::uint64_t NodeParts::item(const Place& place) const {
  const std::uint64_t laid = begin_of(place.node) + place.number;  // among all deliveries, shard by shard
  const auto& ends = tables_->placed_ends;
  const auto at = static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), laid) - ends.begin());
  return tables_->begin_of_shard(tables_->shard_at.at(at)) + (laid - tables_->begin_of_place(at));
}

NodeParts::Place NodeParts::place_of(std::uint64_t item) const {
  const auto& ends = tables_->ends;
  const auto shard = static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), item) - ends.begin());
  const std::uint64_t at = tables_->shard_at.inverse(shard);
  const std::uint64_t laid = tables_->begin_of_place(at) + (item - tables_->begin_of_shard(shard));
  std::uint64_t node = 0;  // the last one that begins at or before it
  for (std::uint64_t low = 0, high = nodes_.count; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (begin_of(middle) <= laid) {
      node = middle;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {node, laid - begin_of(node)};
}

}  // namespace bale
