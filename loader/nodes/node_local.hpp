// What a Loader has to know for Shuffle::node_local(): the nodes, the shards, and which states can be continued.
#pragma once

#include "bale/loader/loader.hpp"
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

}  // namespace bale::loader_detail
