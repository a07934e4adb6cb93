// NodeParts: which samples of an epoch belong to which node, for Shuffle::node_local().
//
// The shards are put into an order that depends on the seed alone and laid end to end. Each node gets a consecutive
// part, in the order of the nodes. A shard at a border of two parts is cut, so the parts are as long as the ranks'
// steps need and no rank has more steps than another; all other shards belong to one node. Parts are the same in every
// epoch, so what a node has in its cache stays useful.
//
// Memory: 16 bytes per shard. Threads: immutable values; copies share memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

/// The nodes of a job. Rank r is on node r / ranks.
struct Nodes {
  std::uint64_t count = 1;
  std::uint64_t ranks = 1;  // per node

  friend bool operator==(const Nodes&, const Nodes&) = default;
};

class NodeParts {
 public:
  /// A delivery, identified by its node and its number among those of the node.
  struct Place {
    std::uint64_t node = 0;
    std::uint64_t number = 0;
  };

  /// `shard_ends`: for each shard, the number of deliveries of the unshuffled order up to its end, ascending; the last
  /// is the size of the epoch. Shards may be empty. Throws `invalid_argument` for nodes without ranks, no nodes, or
  /// more than 2^62 ranks.
  NodeParts(std::vector<std::uint64_t> shard_ends, Nodes nodes, std::uint64_t seed);

  /// Deliveries per epoch, on all nodes.
  std::uint64_t size() const;
  const Nodes& nodes() const { return nodes_; }
  /// Deliveries of a node.
  std::uint64_t size_of(std::uint64_t node) const { return begin_of(node + 1) - begin_of(node); }

  /// The delivery at a position of the epoch. Positions are dealt to ranks as RankPlan deals them, from position 0 on
  /// or any other multiple of the world size. Precondition: position < size().
  Place place(std::uint64_t position) const;
  /// The inverse of place().
  std::uint64_t position(const Place& place) const;
  /// The item (a number in the unshuffled order) at a place of a node's part, and back. O(log shards).
  std::uint64_t item(const Place& place) const;
  Place place_of(std::uint64_t item) const;

 private:
  struct Tables;
  std::uint64_t begin_of(std::uint64_t node) const;

  Nodes nodes_;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace bale
