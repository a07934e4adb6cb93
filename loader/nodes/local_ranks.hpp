// The ranks of this node, and the nodes of this job, as a launcher reports them.
#pragma once

#include "bale/reader/order/node_parts.hpp"
#include "bale/reader/order/node_share.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale::loader_detail {

/// From $RANK, $WORLD_SIZE, $LOCAL_RANK and $LOCAL_WORLD_SIZE, which torchrun sets; it numbers the ranks of a node in
/// sequence. If they are not set, or are not those of `share`, the rank is taken to be alone.
NodeRanks local_ranks(const RankShare& share);

/// The nodes of the job, if all have equally many ranks: `ranks_per_node`, or if that is 0, $LOCAL_WORLD_SIZE. A job of
/// one rank has one node. Throws `invalid_argument` if neither is known, if the variables are not those of `share`, if
/// the world size is not a multiple, and if torchrun's $GROUP_WORLD_SIZE says that nodes differ.
Nodes nodes_of(const RankShare& share, std::uint64_t ranks_per_node);

}  // namespace bale::loader_detail
