// The ranks of this node, as a launcher reports them.
#pragma once

#include "bale/reader/order/node_share.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale::loader_detail {

/// From $RANK, $WORLD_SIZE, $LOCAL_RANK and $LOCAL_WORLD_SIZE, which torchrun sets; it numbers the ranks of a node in
/// sequence. If they are not set, or are not those of `share`, the rank is taken to be alone.
NodeRanks local_ranks(const RankShare& share);

}  // namespace bale::loader_detail
