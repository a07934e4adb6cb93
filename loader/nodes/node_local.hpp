// What a Loader has to know for Shuffle::node_local(): the nodes, the shards, and which states can be continued.
#pragma once

#include "bale/loader/loader.hpp"
#include "bale/reader/order/node_parts.hpp"
#include "bale/reader/order/node_share.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale::loader_detail {

/// This rank's share of each epoch.
RankShare share_of(const LoaderOptions& options);

/// Throws `invalid_argument` if the selection draws, or if the nodes are not known (nodes_of()).
EpochOrder node_local_order(const Dataset& dataset, const LoaderOptions& options, const Selection& selection);

/// The ranks that share this rank's cache, as far as is known.
NodeRanks ranks_of_node(const EpochOrder& order, const RankShare& share);

/// Completes a state: within an epoch, the nodes; at its end, a position after everything that `drop` left out, so that
/// other nodes do not deliver some of it.
void mark_nodes(LoaderState& state, const EpochOrder& order, bool is_end);

/// Throws `invalid_argument` if the state was taken within an epoch on other nodes, whose parts were others.
void check_nodes(const LoaderState& state, const EpochOrder& order);

/// From $RANK, $WORLD_SIZE, $LOCAL_RANK and $LOCAL_WORLD_SIZE, which torchrun sets; it numbers the ranks of a node in
/// sequence. If they are not set, or are not those of `share`, the rank is taken to be alone.
NodeRanks local_ranks(const RankShare& share);

/// The nodes of the job, if all have equally many ranks: `ranks_per_node`, or if that is 0, $LOCAL_WORLD_SIZE. A job of
/// one rank has one node. Throws `invalid_argument` if neither is known, if the variables are not those of `share`, if
/// the world size is not a multiple, and if torchrun's $GROUP_WORLD_SIZE says that nodes differ.
Nodes nodes_of(const RankShare& share, std::uint64_t ranks_per_node);

}  // namespace bale::loader_detail
